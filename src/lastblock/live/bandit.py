"""The live bandit: it decides, learns from rewards, and lets arms come and go."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, overload

from lastblock.core.protocol import Policy
from lastblock.kernels.streams import Seed, key_of
from lastblock.live.aggregation import Rewards
from lastblock.live.answering import answer, ask_again
from lastblock.live.decisions import Decision, Pending, no_context
from lastblock.live.eligibility import Wanted
from lastblock.live.ending import EndsDecisions
from lastblock.live.journalled import JournalledDesk, new_desk
from lastblock.live.labels import L, Label
from lastblock.live.memory import Remember
from lastblock.live.observing import Observes
from lastblock.support.checks import at_least

_new = object.__new__


class Bandit(Observes[L], EndsDecisions[L]):
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
    rewards
        What to tell the policy if a decision may have several rewards: the "first", "sum", "max" or
        "last" of them, once the decision is closed by `close` or `expire`. None: each has one
        reward.
    remember
        For how long to recognise repeated requests: a timedelta, a number of decisions, or both as
        a tuple. By default 24 hours, and 100 000 decisions at most; outside a store only the number
        counts.

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
        rewards: Rewards | None = None,
        remember: Remember | None = None,
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
        rewards: Rewards | None = None,
        remember: Remember | None = None,
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
        rewards: Rewards | None = None,
        remember: Remember | None = None,
    ) -> None:
        self._desk = new_desk(policy, arms, seed, floor, room, rewards, remember)
        if compiled:
            self.compile()
        else:
            self._desk.live.compile_soon()

    @overload
    def ask(
        self,
        *,
        key: str | None = None,
        among: Iterable[L] | None = None,
        without: Iterable[L] | None = None,
    ) -> Decision[L]: ...
    @overload
    def ask(
        self,
        n: int,
        *,
        key: str | None = None,
        among: Iterable[L] | None = None,
        without: Iterable[L] | None = None,
        distinct: bool = False,
    ) -> list[Decision[L]]: ...
    def ask(
        self,
        n: int | None = None,
        context: object = None,
        # Options by keyword only, as the overloads say; but a star here takes 5 % of an `ask`.
        key: str | None = None,
        among: Iterable[L] | None = None,
        without: Iterable[L] | None = None,
        distinct: bool = False,
    ) -> Decision[L] | list[Decision[L]]:
        """Take the next decision, even while earlier ones wait for their rewards.

        Parameters
        ----------
        n
            The number of decisions to take; without it, one.
        context
            Not supported; it is here for the error that says what to use instead.
        key
            A text of your own for this request. Asked again with the same key, the bandit returns
            the same decisions, for as long as `remember` says; so a request can be sent again.
        among
            The arms that may be chosen this time; by default all. Paused arms never are.
        without
            Arms that may not be chosen this time.
        distinct
            Whether the `n` decisions must be for different arms, as for the slots of a page.

        Returns
        -------
        Decision or list of Decision
            The decision; with `n`, a list, even if n = 1. Report its reward to `tell`.

        Raises
        ------
        TypeError
            If a context is given.
        KeyReusedError
            If the key came before with another `n`.
        ValueError
            If no arm can be chosen, or not `n` different ones, or a label is not that of an arm.
        """
        desk = self._desk
        if n is None and context is None and key is None and among is None and without is None:
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
        count = 1 if n is None else at_least(1, n, "n")
        wanted = Wanted.checked(among, without, distinct)
        with desk.lock:
            if key is None:
                asked = desk.ask_each(count, wanted=wanted)
            else:
                asked = ask_again(desk, count, key, wanted)
        return asked[0] if n is None else asked

    def tell(
        self,
        decision: Decision[L] | Pending[L] | int | str,
        reward: float,
        key: str | None = None,  # after * a call would take 5 % more time
    ) -> None:
        """Learn the reward of a decision. If this raises an error, the bandit has not changed.

        Parameters
        ----------
        decision
            What `ask` returned, or its id, or in a store its token. Rewards may come in any order.
            A token may be told again: with the same reward this does nothing.
        reward
            A finite number. If the bandit collects `rewards`, one of several.
        key
            For a bandit that collects `rewards`: a text of your own for this one. With the same key
            it is taken once, however often it is told.

        Raises
        ------
        UnknownDecisionError
            If the decision was never asked for. As a `TokenError`: if a token is not of this
            bandit. As a `SettledDecisionError`: if it has been told or forgotten before; namely a
            `ToldOtherwiseError` if the token was told another reward, an `ExpiredDecisionError` if
            the decision has expired or was closed.
        ValueError
            If `reward` is not a finite number.
        """
        desk = self._desk
        acquire, release = desk.acquire, desk.release
        try:
            acquire()
            told = False
            if (
                key is None
                and type(decision) is Decision
                and type(reward) is float
                and desk.is_quick
            ):
                id, out = decision.id, desk.out
                try:  # a key that is there is found faster than by `get`
                    arm = out[id] if type(id) is int else -1
                except KeyError:
                    arm = -1
                take_in = desk.live.tell_compiled
                if arm >= 0 and take_in is not None and desk.active[arm] == decision.arm:
                    del out[id]  # first, since an interrupt would come after the telling
                    told = take_in(arm, reward)
                    if not told:
                        out[id] = arm
                    elif not desk.is_plain:
                        desk.chances.pop(id, None)
            if not told:
                if type(decision) is str or key is not None or desk.ledger.rule is not None:
                    answer(desk, [decision], [reward], key)
                else:
                    desk.tell_checked(decision, reward)
        except BaseException:
            if desk.is_locked_here():
                release()
            raise
        release()

    def tell_many(
        self,
        decisions: Iterable[Decision[L] | Pending[L] | int | str],
        rewards: Iterable[float],
        *,
        key: str | None = None,
    ) -> None:
        """Learn the rewards of several decisions, in this order: all of them, or none on an error.

        Parameters
        ----------
        decisions
            What `ask` returned, or ids, or in a store tokens; each decision at most once.
        rewards
            As many finite numbers as there are decisions.
        key
            With several rewards a decision: a text of your own for this call. If it comes again,
            it changes nothing.

        Raises
        ------
        UnknownDecisionError
            If a decision is not out, or is given twice.
        ValueError
            If a reward is not a finite number, or there are more or fewer than decisions.
        """
        desk = self._desk
        asked = list(decisions)  # before we lock: a generator may run any code, and slowly
        values = list(rewards)
        if desk.ledger.rule is None:
            values = [desk.check_reward(reward) for reward in values]
        if len(asked) != len(values):
            raise ValueError(f"{len(values)} rewards for {len(asked)} decisions; give one for each")
        with desk.lock:
            is_token = any(type(each) is str for each in asked)
            if desk.ledger.rule is not None or key is not None or is_token:
                answer(desk, asked, values, key)
                return
            desk.settle()
            found = desk.find_each(asked)
            desk.tell_each([(id, arm, x) for (id, arm), x in zip(found, values, strict=True)])

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
