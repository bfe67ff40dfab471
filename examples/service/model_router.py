"""A router of language models: each question goes to the model that has been worth its price.

LASTBLOCK_URL=http://localhost:8000 LASTBLOCK_KEY=lb_… python model_router.py

The reward is the quality of an answer, between 0 and 1, minus its price. Here both are simulated:
put your own calls into `ask_model` and `judge`. AdaptiveLBSDA notices when a model gets better or
worse; if the service does not answer within 200 ms, questions go to the model "small".
"""

import os
import random

from lastblock.client import Client, ServiceError

PRICES = {"small": 0.01, "medium": 0.05, "large": 0.30}
QUALITY = {"small": 0.45, "medium": 0.70, "large": 0.80}
NAME, QUESTIONS = "router", 300


def ask_model(model: str, question: str) -> str:
    """Return the answer of a model."""
    return f"{model} says: {question}"


def judge(model: str, answer: str) -> float:
    """Return how good an answer is: a thumb of the user, a test that passed, another model."""
    return float(random.random() < QUALITY[model])


def route(client: Client, question: str) -> str:
    """Answer a question with the model that the bandit chooses, and tell it how good that was."""
    decision = client.decide(NAME, fallback="small")
    model = str(decision.arm)
    answer = ask_model(model, question)
    try:
        client.reward(decision, judge(model, answer) - PRICES[model])
    except ServiceError as error:  # the user has the answer; the bandit learns from the next one
        print(f"the reward was not told: {error}")
    return answer


def main() -> None:
    """Create the bandit, route questions, and print which model is best."""
    url, key = os.environ["LASTBLOCK_URL"], os.environ["LASTBLOCK_KEY"]
    with Client(url, key, timeout=10.0) as admin:
        # An answer that nobody judges within an hour is not counted.
        admin.create(NAME, list(PRICES), policy="AdaptiveLBSDA", reward_window=3600.0)
    with Client(url, key, timeout=0.2) as client:
        for number in range(QUESTIONS):
            route(client, f"question {number}")
    with Client(url, key, timeout=10.0) as admin:
        print(admin.summary(NAME)["text"])


if __name__ == "__main__":
    main()
