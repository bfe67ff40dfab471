"""The live bandit: it decides, learns from rewards, and lets arms come and go."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast, overload

from lastblock.core.protocol import Policy
from lastblock.kernels.streams import Seed, key_of
from lastblock.live.decisions import Decision, Pending, no_context
from lastblock.live.journalled import JournalledDesk, new_desk
from lastblock.live.labels import L, Label, check_label
from lastblock.live.restoring import Restorable
from lastblock.support.checks import at_least

_new = object.__new__


class Bandit(Restorable[L]):
    """A bandit that decides for a live system.

    Rewards may come in any order, late, or never. If each is told before the next `ask`, the arms
    are those of replication 0 of `simulate` with this seed and rewards. Threads may share a bandit.

    Parameters
    ----------
    policy
        A policy of the library, or your own.
    arms
        The labels of the arms (strings or whole numbers), or the number of arms.
    seed
        Anything that `numpy.random.SeedSequence` takes; None for a fresh seed.
    floor
        The least share of decisions: for some arms, as in ``{"control": 0.05}``, or for every arm
        including those added later, as in ``0.05``. Each decision then has a `probability`.
    room
        The number of arms to reserve room for; the next of 2, 4, 8, 16, 32 … is reserved, so that
        bandits share their compiled code. An `add_arm` beyond it moves the bandit to the next
        larger record, for which new code may have to be compiled.
    compiled
        Whether to wait until the code for this policy and number of arms is compiled, which takes
        seconds unless it is in the cache. Without it the bandit decides at once, in plain Python
        at first, and compiles in the background; its decisions are the same, bit for bit.

    Raises
    ------
    ValueError
        If an argument is out of range, or the policy cannot play this number of arms.

    Examples
    --------
    >>> import lastblock as lb
    >>> bandit = lb.Bandit(lb.LBSDAGM(), arms=["red", "green", "blue"], seed=7)
    >>> decision = bandit.ask()
    >>> bandit.tell(decision, 1.0)
    >>> sum(bandit.pulls.values())
    1
    """

    @overload
    def __init__(
        self: "Bandit[int]",
        policy: Policy,
        arms: int,
        *,
        seed: Seed = None,
        floor: float | Mapping[int, float] | None = None,
        room: int | None = None,
        compiled: bool = False,
    ) -> None: ...
    @overload
    def __init__(
        self,
        policy: Policy,
        arms: Sequence[L],
        *,
        seed: Seed = None,
        floor: float | Mapping[L, float] | None = None,
        room: int | None = None,
        compiled: bool = False,
    ) -> None: ...
    def __init__(
        self,
        policy: Policy,
        arms: Sequence[Label] | int,
        *,
        seed: Seed = None,
        floor: float | Mapping[Any, float] | None = None,
        room: int | None = None,
        compiled: bool = False,
    ) -> None:
        self._desk = new_desk(policy, arms, seed, floor, room)
        if compiled:
            self.compile()
        else:
            self._desk.live.compile_soon()

    @overload
    def ask(self) -> Decision[L]: ...
    @overload
    def ask(self, n: int) -> list[Decision[L]]: ...
    def ask(self, n: int | None = None, context: object = None) -> Decision[L] | list[Decision[L]]:
        """Take the next decision, even while earlier ones wait for their rewards.

        Parameters
        ----------
        n
            The number of decisions to take; without it, one.
        context
            Not supported; it is here for the error that says what to use instead.

        Returns
        -------
        Decision or list of Decision
            The decision; with `n`, a list, even if n = 1. Report its reward to `tell`.

        Raises
        ------
        TypeError
            If a context is given.
        """
        desk = self._desk
        if n is None and context is None:
            acquire, release = desk.acquire, desk.release  # Python calls local names faster
            try:  # does what `with desk.lock:` does, but faster; see `is_locked_here`
                acquire()
                if desk.is_plain:
                    # The body of `ask_arm`: without that call, `ask` takes 5 % less time.
                    id = desk.next_id
                    decide = desk.live.ask
                    arm = decide(id)
                    desk.next_id = id + 1
                    desk.out[id] = arm
                    decision: Decision[L] = _new(Decision)  # faster than Decision(…)
                    decision.arm, decision.id, decision.probability = desk.active[arm], id, None
                else:
                    (decision,) = desk.ask_each(1)
            except BaseException:
                if desk.is_locked_here():
                    desk.catch_up()
                    release()
                raise
            release()
            return decision
        if context is not None:
            raise no_context()
        count = at_least(1, n, "n")
        with desk.lock:
            return desk.ask_each(count)

    def tell(self, decision: Decision[L] | Pending[L] | int, reward: float) -> None:
        """Learn the reward of a decision. If this raises an error, the bandit has not changed.

        Parameters
        ----------
        decision
            What `ask` returned, or its id. Rewards may come in any order.
        reward
            A finite number.

        Raises
        ------
        UnknownDecisionError
            If the decision was never asked for, or has been told or forgotten before.
        ValueError
            If `reward` is not a finite number.
        """
        desk = self._desk
        acquire, release = desk.acquire, desk.release
        try:
            acquire()
            told = False
            if type(decision) is Decision and type(reward) is float and desk.is_quick:
                id, out = decision.id, desk.out
                arm = out.get(id, -1) if type(id) is int else -1
                if arm >= 0 and desk.active[arm] == decision.arm:
                    del out[id]  # first, since an interrupt would come after the telling
                    take_in = desk.live.tell_compiled
                    told = take_in(arm, reward)
                    if not told:
                        out[id] = arm
                    elif not desk.is_plain:
                        desk.chances.pop(id, None)
            if not told:
                desk.tell_checked(decision, reward)
        except BaseException:
            if desk.is_locked_here():
                release()
            raise
        release()

    def tell_many(
        self, decisions: Iterable[Decision[L] | Pending[L] | int], rewards: Iterable[float]
    ) -> None:
        """Learn the rewards of several decisions, in this order: all of them, or none on an error.

        Parameters
        ----------
        decisions
            What `ask` returned, or ids; each decision at most once.
        rewards
            As many finite numbers as there are decisions.

        Raises
        ------
        UnknownDecisionError
            If a decision is not out, or is given twice.
        ValueError
            If a reward is not a finite number, or there are more or fewer than decisions.
        """
        desk = self._desk
        asked = list(decisions)  # before we lock: a generator may run any code, and slowly
        values = [desk.check_reward(reward) for reward in rewards]
        if len(asked) != len(values):
            raise ValueError(f"{len(values)} rewards for {len(asked)} decisions; give one for each")
        with desk.lock:
            desk.settle()
            found = desk.find_each(asked)
            desk.tell_each([(id, arm, x) for (id, arm), x in zip(found, values, strict=True)])

    def forget(self, decision: Decision[L] | Pending[L] | int) -> None:
        """Drop a decision whose reward will never come.

        Parameters
        ----------
        decision
            What `ask` returned, or its id.

        Raises
        ------
        UnknownDecisionError
            If the decision was never asked for, or has been told or forgotten before.
        """
        with self._desk.lock:
            self._desk.settle()
            self._desk.forget_each([self._desk.find(decision)])

    def expire(self, *, older_than: int, reward: float | None = None) -> tuple[Pending[L], ...]:
        """Stop waiting for old decisions: forget them, or tell each the same reward.

        Parameters
        ----------
        older_than
            Decisions with more than this number of decisions after them are old.
        reward
            The reward to tell the old decisions; without it they are forgotten.

        Returns
        -------
        tuple of Pending
            The old decisions, oldest first.
        """
        limit = at_least(0, older_than, "older_than")
        reward = None if reward is None else self._desk.check_reward(reward)
        with self._desk.lock:
            self._desk.settle()
            late = [pending for pending in self.pending if pending.age > limit]
            if reward is not None:
                self.tell_many(late, [reward] * len(late))
            else:
                self._desk.forget_each([self._desk.find(pending) for pending in late])
            return tuple(late)

    def add_arm(self, label: L) -> None:
        """Add an arm. It is pulled once before the next round; from then on the policy decides.

        Parameters
        ----------
        label
            A new label. The labels of retired arms cannot be used again.

        Raises
        ------
        ValueError
            If the label is not new, or the policy cannot play one more arm.
        """
        label = cast(L, check_label(label))
        with self._desk.lock:
            self._desk.settle()
            self._desk.add_arm(label)

    def retire_arm(self, label: L) -> None:
        """Never pull this arm again. Rewards of its pending decisions are accepted and ignored.

        Parameters
        ----------
        label
            The label of an active arm.

        Raises
        ------
        ValueError
            If the arm is not active, or too few arms would be left.
        """
        with self._desk.lock:
            self._desk.settle()
            self._desk.retire_arm(self._desk.find_arm(label))

    def reseed(self, seed: Seed = None) -> None:
        """Continue with other random numbers: so a copy stops deciding like its original.

        Parameters
        ----------
        seed
            Anything that `numpy.random.SeedSequence` takes; None for a fresh seed.
        """
        key = key_of(seed)
        with self._desk.lock:
            self._desk.settle()
            self._desk.reseed(key)


def bandit_on(desk: JournalledDesk[L]) -> Bandit[L]:
    """Return a bandit that works on an existing desk."""
    bandit: Bandit[L] = Bandit.__new__(Bandit)
    bandit._desk = desk
    return bandit
