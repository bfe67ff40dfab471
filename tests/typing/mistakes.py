"""Mistakes that users make, one a line. Both type checkers must find each one that they ignore."""

import lastblock as lb
from lastblock.client import AsyncClient, Client

env = lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.3)])
bandit = lb.Bandit(lb.LBSDALM(), arms=["red", "green"])
numbered = lb.Bandit(lb.LBSDALM(), arms=3)
client = Client("http://localhost:8000")
waiting = AsyncClient("http://localhost:8000")

# Misspelt names.
lb.Thomson()  # type: ignore
lb.simualte(lb.LBSDA(), env, horizon=100)  # type: ignore
lb.lab.Scenaro  # type: ignore
lb.theory.lai_robins(env)  # type: ignore
bandit.tel(0, 1.0)  # type: ignore
lb.Family.GAUSIAN  # type: ignore

# Misspelt and missing arguments.
lb.SWLBSDA(windw=100)  # type: ignore
lb.SWLBSDA()  # type: ignore
lb.SWLBSDA.tuned(horizon=1000, change=2)  # type: ignore
lb.Bandit(lb.LBSDA(), arms=3, flor=0.1)  # type: ignore
lb.BestArm()  # type: ignore
lb.OracleRestart(lb.LBSDA(), change=[3])  # type: ignore
lb.OracleRestart(lb.LBSDA())  # type: ignore
client.decide("button", withot=["red"])  # type: ignore
client.decide("button", 2, fallbak="red")  # type: ignore
client.decide("button", context={"age": 40})  # type: ignore
client.create("button", ["red", "green"], polcy="UCB1")  # type: ignore
client.create("button")  # type: ignore
client.reward(client.decide("button"))  # type: ignore
waiting.decide("button", segmnt="de")  # type: ignore
waiting.create("button", ["red", "green"], sed=1)  # type: ignore

# Words that are none of the few.
lb.SWKLUCB.tuned(horizon=1000, changes=2, family="normal")  # type: ignore
lb.Thompson(family="cauchy")  # type: ignore
lb.theory.kl(0.1, 0.2, "bernouli")  # type: ignore
lb.Store("shop.db", durability="sometimes")  # type: ignore
lb.Store("shop.db").get_or_create("button", lb.UCB1())  # type: ignore
lb.Bandit(lb.UCB1(), arms=2).ask(context={"age": 40})  # type: ignore
lb.Store("shop.db").export("button", "log.parquet", "decision")  # type: ignore
lb.lab.load("results").plot(kind="best_arm")  # type: ignore
lb.Replay("log.csv").estimate("red", absent="drop")  # type: ignore
client.create("button", ["red", "green"], aggregation="mean")  # type: ignore

# Values of another type.
lb.simulate(lb.LBSDA, env, horizon=100)  # type: ignore
lb.simulate(lb.Bernoulli(0.5), env, horizon=100)  # type: ignore
lb.Restarting(lb.LBSDA(), lb.LBSDA())  # type: ignore
lb.Stationary([lb.LBSDA(), lb.LBSDA()])  # type: ignore
lb.KLUCB(sigma="one")  # type: ignore
bandit.tell(bandit.ask(), "clicked")  # type: ignore
bandit.ask(distinct=True)  # type: ignore
lb.BestArm(lb.LBSDA())  # type: ignore
lb.warm(lb.LBSDA)  # type: ignore
lb.warm(lb.LBSDA(), room=4)  # type: ignore
client.decide("button", without=3)  # type: ignore
client.decide("button", segment=3)  # type: ignore
client.reward(client.decide("button"), "clicked")  # type: ignore
client.reward(client.decide("button", 2), 1.0)  # type: ignore
client.create("button", ["red", "green"], reward_window="1 h")  # type: ignore

# Labels of another type.
bandit.add_arm(4)  # type: ignore
bandit.ask(among=[4])  # type: ignore
bandit.pause_arm(4)  # type: ignore
bandit.set_floors({4: 0.1})  # type: ignore
bandit.observe(4, 1.0)  # type: ignore
numbered.add_arm("red")  # type: ignore
numbered.tell(bandit.ask(), 1.0)  # type: ignore
bandit.forget(numbered.ask())  # type: ignore
number: int = bandit.ask().arm  # type: ignore
lb.Bandit(lb.LBSDALM(), arms=3, floor={"red": 0.1})  # type: ignore
bandit.pulls[0]  # type: ignore
lb.policy(support="unot")  # type: ignore
