"""Mistakes that users make, one a line. Both type checkers must report each, and nothing else."""

import lastblock as lb
from lastblock.client import AsyncClient, Client

env = lb.Stationary([lb.Bernoulli(0.5), lb.Bernoulli(0.3)])
bandit = lb.Bandit(lb.LBSDALM(), arms=["red", "green"])
numbered = lb.Bandit(lb.LBSDALM(), arms=3)
client = Client("http://localhost:8000")
waiting = AsyncClient("http://localhost:8000")

# Misspelt names.
lb.Thomson()  # mistake
lb.KlUCB()  # mistake
lb.Bernouli(0.5)  # mistake
lb.simualte(lb.LBSDA(), env, horizon=100)  # mistake
lb.lab.Scenaro  # mistake
lb.theory.lai_robins(env)  # mistake
bandit.tel(0, 1.0)  # mistake
lb.Family.GAUSIAN  # mistake

# Misspelt and missing arguments.
lb.SWLBSDA(windw=100)  # mistake
lb.SWLBSDA()  # mistake
lb.SWLBSDA.tuned(horizon=1000, change=2)  # mistake
lb.simulate(lb.LBSDA(), env, horizons=100)  # mistake
lb.Bandit(lb.LBSDA(), arms=3, flor=0.1)  # mistake
lb.BestArm(env, horizn=100)  # mistake
lb.BestArm()  # mistake
lb.OracleRestart(lb.LBSDA(), change=[3])  # mistake
lb.OracleRestart(lb.LBSDA())  # mistake
lb.Gaussian(0.5, sigm=0.1)  # mistake
client.decide("button", withot=["red"])  # mistake
client.decide("button", 2, fallbak="red")  # mistake
client.decide("button", context={"age": 40})  # mistake
client.create("button", ["red", "green"], polcy="UCB1")  # mistake
client.create("button")  # mistake
client.reward(client.decide("button"))  # mistake
waiting.decide("button", segmnt="de")  # mistake
waiting.create("button", ["red", "green"], sed=1)  # mistake

# Words that are none of the few.
lb.KLUCB(family="gausian")  # mistake
lb.SWKLUCB.tuned(horizon=1000, changes=2, family="normal")  # mistake
lb.GLR(family="binomial")  # mistake
lb.Thompson(family="cauchy")  # mistake
lb.theory.kl(0.1, 0.2, "bernouli")  # mistake
lb.Store("shop.db", durability="sometimes")  # mistake
lb.Store("shop.db").get_or_create("button", lb.UCB1())  # mistake
lb.Bandit(lb.UCB1(), arms=2).ask(context={"age": 40})  # mistake
lb.Store("shop.db").export("button", "log.parquet", "decision")  # mistake
lb.lab.load("results").plot(kind="best_arm")  # mistake
lb.Replay("log.csv").estimate("red", absent="drop")  # mistake
client.create("button", ["red", "green"], aggregation="mean")  # mistake

# Values of another type.
lb.simulate(lb.LBSDA, env, horizon=100)  # mistake
lb.simulate(lb.Bernoulli(0.5), env, horizon=100)  # mistake
lb.Restarting(lb.LBSDA(), lb.LBSDA())  # mistake
lb.Stationary([lb.LBSDA(), lb.LBSDA()])  # mistake
lb.KLUCB(sigma="one")  # mistake
bandit.tell(bandit.ask(), "clicked")  # mistake
bandit.ask(distinct=True)  # mistake
lb.BestArm(lb.LBSDA())  # mistake
lb.warm(lb.LBSDA)  # mistake
lb.warm(lb.LBSDA(), room=4)  # mistake
client.decide("button", without=3)  # mistake
client.decide("button", segment=3)  # mistake
client.reward(client.decide("button"), "clicked")  # mistake
client.reward(client.decide("button", 2), 1.0)  # mistake
client.create("button", ["red", "green"], reward_window="1 h")  # mistake

# Labels of another type.
bandit.add_arm(4)  # mistake
bandit.ask(among=[4])  # mistake
bandit.pause_arm(4)  # mistake
bandit.set_floors({4: 0.1})  # mistake
bandit.observe(4, 1.0)  # mistake
numbered.add_arm("red")  # mistake
numbered.tell(bandit.ask(), 1.0)  # mistake
bandit.forget(numbered.ask())  # mistake
number: int = bandit.ask().arm  # mistake
lb.Bandit(lb.LBSDALM(), arms=3, floor={"red": 0.1})  # mistake
bandit.pulls[0]  # mistake
lb.policy(support="unot")  # mistake
