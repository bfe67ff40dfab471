"""The live bandit: it decides, learns from rewards, and lets arms come and go."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, cast, overload

from lastblock.core.protocol import Policy
from lastblock.engine.events import Event, Journal
from lastblock.kernels.streams import Seed, key_of
from lastblock.live import persistence as snapshot
from lastblock.live.answering import answer, ask_again, end, number_out
from lastblock.live.changes import Change, changes_of
from lastblock.live.decisions import Decision, Pending, no_context
from lastblock.live.description import describe_desk, restore_desk
from lastblock.live.eligibility import Wanted, check_resizable
from lastblock.live.event_replay import apply_event, floors_event
from lastblock.live.explanation import Explanation
from lastblock.live.journalled import Hook, JournalledDesk, new_desk
from lastblock.live.labels import (
    ACTIVE,
    LEAVE_OUT,
    PAUSED,
    RETIRED,
    ArmState,
    L,
    Label,
    check_floor,
    check_label,
)
from lastblock.live.ledger import Rewards, check_rule
from lastblock.live.memory import Remember, check_remember
from lastblock.live.observing import (
    MANY,
    PART,
    came_before,
    observe_each,
    place_of,
    places_of,
    read_pairs,
    rewards_of,
)
from lastblock.live.tokens import no_tokens
from lastblock.support import files
from lastblock.support.checks import at_least
from lastblock.support.errors import short
from lastblock.support.intervals import check_confidence

if TYPE_CHECKING:
    from lastblock.live.summary import Summary
    from lastblock.live.verdict import BestArmVerdict

_AS_IT_IS: Any = object()
_new = object.__new__


class Bandit(Generic[L]):
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

    _desk: JournalledDesk[L]

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

    @property
    def policy(self) -> Policy:
        """The policy that decides."""
        return self._desk.live.policy

    @property
    def arms(self) -> Mapping[L, ArmState]:
        """The state of every arm, "active", "paused" or "retired", by label."""
        desk = self._desk
        with desk.lock:
            states: dict[L, ArmState] = dict.fromkeys(desk.labels, ACTIVE)
            states.update(dict.fromkeys(desk.paused, PAUSED))
            states.update(dict.fromkeys(desk.retired, RETIRED))
            return states

    @property
    def pulls(self) -> Mapping[L, int]:
        """How many rewards each arm has had, including retired arms."""
        with self._desk.lock:
            return self._desk.pulls()

    @property
    def floor(self) -> Mapping[L, float]:
        """The least share of decisions for each active arm that has one."""
        desk = self._desk
        with desk.lock:
            shares = zip(desk.active, desk.live.notes.floor.tolist(), strict=False)
            return {label: share for label, share in shares if share > 0.0}

    @property
    def asked(self) -> int:
        """How many decisions have been asked for.

        This is also the id of the next decision, unless crashes have lost ids of a store's bandit.
        """
        return self._desk.asked

    @property
    def pending(self) -> tuple[Pending[L], ...]:
        """The decisions that wait for a reward, oldest first."""
        with self._desk.lock:
            return self._desk.pending()

    @property
    def changes(self) -> tuple[Change[L], ...]:
        """The last changes of the world that the policy has noticed: at most eight, oldest first.

        Only policies that restart notice changes, such as `AdaptiveLBSDA` and `Restarting`.
        """
        with self._desk.lock:
            return changes_of(self._desk.live.s, self._desk.active)

    @property
    def state_size(self) -> int:
        """The size of the policy's state in bytes."""
        return int(self._desk.live.states.dtype.itemsize)

    def explain(self) -> Explanation[L]:
        """Explain the last round: who led, which arms were compared, and why they were pulled.

        Returns
        -------
        Explanation
            The reasons as data; `print` it to read them in words.
        """
        with self._desk.lock:
            return self._desk.explain()

    def summary(
        self, *, confidence: float = 0.95, bounds: tuple[float, float] | None = None
    ) -> "Summary[L]":
        """Summarise the bandit: which arm is best, how sure that is, and the means of all arms.

        Parameters
        ----------
        confidence
            The confidence of the intervals, and of the statement which arms may be best.
        bounds
            The smallest and the largest possible reward. With them the intervals of rewards that
            are not just 0 and 1 are exact instead of approximate.

        Returns
        -------
        Summary
            The figures as data; `print` it to read them as a table.

        Raises
        ------
        ValueError
            If `confidence` does not lie between 0 and 1, or a reward lies outside of `bounds`.
        """
        from lastblock.live.mean_rewards import check_bounds  # noqa: PLC0415  # slow to import
        from lastblock.live.summary import gather, summarise  # noqa: PLC0415  # slow to import

        confidence, limits = check_confidence(confidence), check_bounds(bounds)
        with self._desk.lock:
            found = gather(self._desk, confidence)
        return summarise(found, limits)  # it takes milliseconds, so others may go on

    def verdict(
        self, confidence: float = 0.95, *, bounds: tuple[float, float] | None = None
    ) -> "BestArmVerdict[L]":
        """Say whether the best arm is known at a confidence, so that you can stop.

        It holds under every policy, however often you ask: if you stop as soon as `stop` is true,
        `best` is not the best arm with a probability of at most 1 − `confidence`. It assumes that
        no arm's mean changes.

        Parameters
        ----------
        confidence
            How sure you want to be.
        bounds
            The smallest and the largest possible reward. Without them, the verdict is exact for
            rewards of 0 and 1 and for policies that take rewards between two numbers, and
            approximate for others.

        Returns
        -------
        BestArmVerdict
            The verdict as data; `print` it to read it as a sentence.

        Raises
        ------
        ValueError
            If `confidence` does not lie between 0 and 1, if a reward lies outside of `bounds`, or
            if a fleet took the rewards and does not keep enough of them.
        """
        from lastblock.live.mean_rewards import check_bounds  # noqa: PLC0415  # slow to import
        from lastblock.live.summary import gather  # noqa: PLC0415  # slow to import
        from lastblock.live.verdict import verdict_of  # noqa: PLC0415  # slow to import

        confidence, limits = check_confidence(confidence), check_bounds(bounds)
        with self._desk.lock:
            found = gather(self._desk, confidence)
        return verdict_of(found, limits)

    def locked(self) -> Any:
        """Return the lock that every call takes.

        Within ``with bandit.locked():`` no other thread changes the bandit between your calls.

        Returns
        -------
        context manager
            A re-entrant lock.
        """
        return self._desk.lock

    def to_bytes(self) -> bytes:
        """Return the whole bandit as bytes, with a version and a checksum.

        Returns
        -------
        bytes
            `Bandit.from_bytes` makes a bandit of them that continues bit for bit.
        """
        with self._desk.lock:
            desk = self._desk
            return snapshot.pack(describe_desk(desk), desk.live.to_bytes())

    def to_json(self) -> str:
        """Return the whole bandit as JSON text.

        Returns
        -------
        str
            The description of the bandit, and its record in base64; `Bandit.from_json` reads it.
        """
        with self._desk.lock:
            desk = self._desk
            return snapshot.to_text(describe_desk(desk), desk.live.to_bytes())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the bandit to a file; `Bandit.load` reads it.

        Parameters
        ----------
        path
            The file. An existing file is replaced only after the new one is written completely.
        """
        files.write(Path(path), self.to_bytes())

    def __repr__(self) -> str:
        return f"<Bandit {self.policy}: {self.pulls}, {len(self._desk.out)} out>"

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
            If the key came before with another `n`, `among`, `without` or `distinct`.
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
        defer: bool = False,
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
        defer
            Whether the policy learns it only when the decision expires. With `expire(reward=0.0)`
            for the decisions without one, it then learns both at the same age; otherwise arms
            that have just gained traffic would look too good. Rewards of a bandit that collects
            `rewards` wait anyway.

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
                and not defer
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
                ledger = desk.ledger
                is_simple = type(decision) is not str and key is None and not defer
                if not is_simple or ledger.rule is not None or ledger.deferred:
                    answer(desk, [decision], [reward], key, defer=defer)
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
        defer: bool = False,
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
        defer
            As for `tell`.

        Raises
        ------
        UnknownDecisionError
            If a decision is not out, or is given twice. The message begins with the place of the
            reward, counted from 0, and the decision's token, if it was given.
        ValueError
            If a reward is not a finite number, or there are more or fewer than decisions.
        """
        desk = self._desk
        asked, values = list(decisions), list(rewards)  # before we lock: generators may be slow
        if len(asked) != len(values):
            raise ValueError(f"{len(values)} rewards for {len(asked)} decisions; give one for each")
        with desk.lock:
            answer(desk, asked, values, key, defer=defer)

    def forget(self, decision: Decision[L] | Pending[L] | int | str) -> None:
        """Drop a decision whose reward will never come, and the rewards it has had so far.

        Parameters
        ----------
        decision
            What `ask` returned, or its id, or in a store its token. A token may be forgotten again.

        Raises
        ------
        UnknownDecisionError
            If the decision was never asked for, or has been told or forgotten before.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            number, ended = number_out(desk, decision, "forgotten")
            if ended is None:
                note: Event = "remember", number, None, ["forgotten", None, [number]]
                notes = [note] if type(decision) is str else []
                desk.end_each([], [(number, desk.out[number])], notes)

    def close(
        self,
        decision: Decision[L] | Pending[L] | int | str,
        *,
        reward: float | None = None,
        defer: bool = False,
    ) -> float | None:
        """Stop waiting for further rewards of a decision: tell the policy what they come to.

        Parameters
        ----------
        decision
            What `ask` returned, or its id, or in a store its token. A token may be closed again.
        reward
            The reward to tell if none has come; without it the decision is then forgotten.
        defer
            Whether the policy learns it only when the decision expires; see `tell`.

        Returns
        -------
        float or None
            What the policy is told; None if the decision was forgotten.

        Raises
        ------
        UnknownDecisionError
            If the decision was never asked for, or has been told or forgotten before.
        ValueError
            If `reward` is not a finite number.
        """
        desk = self._desk
        value = None if reward is None else desk.check_reward(reward)
        with desk.lock:
            desk.settle()
            number, ended = number_out(desk, decision, "closed")
            if ended is not None:
                return ended.reward
            parts = desk.ledger.parts
            told = parts.get(number, value)
            if defer and told is not None:
                desk.note_each([("close", number, desk.number(number), ["closed", told])])
                return told
            notes: list[Event] = []
            if type(decision) is str:
                notes = [("remember", number, None, ["closed", told, [number]])]
            end(desk, [number], value, notes)
            return told

    def expire(
        self, *, older_than: int | timedelta, reward: float | None = None
    ) -> tuple[Pending[L], ...]:
        """Stop waiting for old decisions: forget them, or tell each the same reward.

        A decision that has had some of several rewards, or one that was to wait (`defer`), is told
        what they come to. The policy learns in the order in which the decisions get old.

        Parameters
        ----------
        older_than
            Decisions with more than this number of decisions after them are old; or, in a store,
            decisions that were asked for (or activated) longer ago than this timedelta.
        reward
            The reward to tell the old decisions; without it they are forgotten.

        Returns
        -------
        tuple of Pending
            The old decisions, oldest first.

        Raises
        ------
        ValueError
            If an argument is out of range, or a timedelta is given outside a store.
        """
        desk = self._desk
        age = older_than if isinstance(older_than, timedelta) else None
        limit = 0 if age is not None else at_least(0, older_than, "older_than")
        if age is not None and age < timedelta(0):
            raise ValueError(f"older_than={older_than} must not be negative")
        value = None if reward is None else desk.check_reward(reward)
        with desk.lock:
            desk.settle()
            if age is not None:
                late = _older(desk, age)
            else:
                newest = desk.asked - 1 - limit
                late = sorted(id for id in desk.out if desk.asked_before(id) < newest)
            gone = tuple(desk.pending_at(id) for id in late)
            end(desk, late, value, [])
            return gone

    def activate(self, decision: Decision[L] | Pending[L] | int | str) -> None:
        """Start the clock of a decision again: for one that was made before it was shown.

        Its age, by which `expire` goes, counts from now; the time at which it was asked for stays.

        Parameters
        ----------
        decision
            What `ask` returned, or its id or token, of a bandit in a store.

        Raises
        ------
        UnknownDecisionError
            If the decision was never asked for, or has been told or forgotten before.
        ValueError
            Outside a store, where decisions have no times.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            if desk.clock is None:
                raise _no_times("activate()")
            number, _ = number_out(desk, decision, None)
            desk.note_each([("activate", number, desk.number(number), None)])

    def configure(
        self, *, rewards: Rewards | None = _AS_IT_IS, remember: Remember = _AS_IT_IS
    ) -> None:
        """Change how rewards are collected and how long requests are remembered, from now on.

        Parameters
        ----------
        rewards, remember
            As for `Bandit`; what is not given stays as it is.

        Raises
        ------
        ValueError
            If an argument is out of range, or `rewards` is to change while open decisions have had
            some of their rewards.
        """
        desk = self._desk
        rule = None if rewards is _AS_IT_IS else check_rule(rewards)
        limits = None if remember is _AS_IT_IS else check_remember(remember)
        with desk.lock:
            desk.settle()
            ledger = desk.ledger
            before = {"rewards": ledger.rule, "remember": ledger.memory.limits}
            after = {
                "rewards": ledger.rule if rewards is _AS_IT_IS else rule,
                "remember": limits or ledger.memory.limits,
            }
            if after == before:
                return
            if after["rewards"] != ledger.rule and ledger.parts:
                raise ValueError(
                    f"rewards={short(rewards)}: {len(ledger.parts)} decisions have had rewards "
                    f"already, of which the {ledger.rule} counts; close them first"
                )
            desk.note_each([("configure", None, None, after)])

    def token(self, decision: Decision[L] | Pending[L] | int) -> str:
        """Return the token of a decision that is out, such as one of `pending`; only in a store.

        Parameters
        ----------
        decision
            What `ask` returned, or its id.

        Raises
        ------
        UnknownDecisionError
            If the decision is not out; as a `TokenError` outside a store.
        """
        desk = self._desk
        with desk.lock:
            if desk.tokens is None:
                raise no_tokens()
            number, _ = desk.find(decision)
            return desk.tokens.make(number)

    @property
    def rewards(self) -> Rewards | None:
        """Which of a decision's several rewards the policy is told; None if each has one."""
        return self._desk.ledger.rule

    def observe(self, arm: L, reward: float) -> None:
        """Learn the reward of a decision that somebody else has taken.

        The policy learns from it as from any reward. It is an extra pull: the round goes on as it
        was, as after a decision for the sake of a traffic floor.

        Parameters
        ----------
        arm
            The label of an arm, which may be paused but not retired.
        reward
            A finite number.

        Raises
        ------
        ValueError
            If there is no such arm, or `reward` is not a finite number that the policy takes. The
            bandit has not changed then.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            place = place_of(desk, arm)
            observe_each(desk, [place], [desk.check_reward(reward, LEAVE_OUT)])

    def observe_many(
        self, arms: Iterable[L], rewards: Iterable[float], *, key: str | None = None
    ) -> None:
        """Learn the rewards of decisions of others, in this order: all, or none on an error.

        Parameters
        ----------
        arms
            The labels of the arms.
        rewards
            As many finite numbers.
        key
            A text of your own, so that the call can be repeated: it has its effect once. It is
            remembered for as long as the keys of `ask` are.

        Raises
        ------
        ValueError
            As for `observe`, or if there are more or fewer rewards than arms. The message says
            which event is wrong, counted from 0.
        KeyReusedError
            If the key came with other observations before.
        """
        labels, values = list(arms), list(rewards)  # before we lock: a generator may run any code
        if len(labels) != len(values):
            raise ValueError(f"{len(values)} rewards for {len(labels)} arms; give one for each")
        desk = self._desk
        if len(values) > MANY:
            desk.live.compile()
        with desk.lock:
            desk.settle()
            places, checked = places_of(desk, labels), rewards_of(desk, values)
            if key is None or not came_before(desk, places, checked, key):
                observe_each(desk, places, checked, key)

    def learn(
        self,
        log: "str | os.PathLike[str] | Mapping[str, Any] | Iterable[tuple[L, float]]",
        *,
        arm: str = "arm",
        reward: str = "reward",
        progress: bool | None = None,
    ) -> int:
        """Learn from a log of decisions of others: a warm start.

        The whole log is checked before the bandit changes. Then it learns 50 000 events at a time;
        if you interrupt it, it has learnt some of these parts completely, and nothing of the rest.

        Parameters
        ----------
        log
            A CSV or Parquet file, a data frame or a mapping of columns, in the order of time; a
            `Replay`, which can sort by time; or pairs of an arm and a reward.
        arm, reward
            The names of these columns. Other columns are ignored.
        progress
            Whether to show a progress bar; by default after two seconds, on a terminal.

        Returns
        -------
        int
            The number of events.

        Raises
        ------
        ValueError
            As for `observe_many`, or if the log cannot be read.
        """
        from lastblock.support.parallel import progress_bar  # noqa: PLC0415  # slow to import

        labels, values = read_pairs(log, arm, reward)
        if len(labels) != len(values):
            raise ValueError(f"the log has {len(labels)} arms and {len(values)} rewards")
        with self._desk.lock:
            self._desk.settle()
            places_of(self._desk, labels)
            rewards_of(self._desk, values)
        with progress_bar(len(values), progress, unit="event") as bar:
            for first in range(0, len(values), PART):
                part = slice(first, first + PART)
                self.observe_many(labels[part], values[part])
                bar.update(len(values[part]))
        return len(values)

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
        desk = self._desk
        with desk.lock:
            desk.settle()
            desk.add_arm(label)

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
        desk = self._desk
        with desk.lock:
            desk.settle()
            desk.retire_arm(desk.find_arm(label))

    def pause_arm(self, label: L) -> None:
        """Take no decision for this arm until `resume_arm`. It keeps its past.

        Rewards of its pending decisions count as always. The other arms go on as if this one had
        been retired, except that a turn that it has in the current round is only postponed.

        Parameters
        ----------
        label
            The label of an active arm. All arms may be paused; then `ask` raises an error.

        Raises
        ------
        ValueError
            If the arm is paused already, was retired or never existed.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            number = desk.numbers[desk.find_arm(label)]
            if label in desk.paused:
                raise ValueError(f"arm {label!r} is paused already")
            check_resizable(self.policy, max(2, len(desk.active) - 1))
            paused = desk.paused | {label}
            desk.log([("pause_arm", None, number, None)], desk.set_paused, paused)

    def resume_arm(self, label: L) -> None:
        """Take decisions for a paused arm again, with all that was learnt about it.

        Parameters
        ----------
        label
            The label of a paused arm.

        Raises
        ------
        ValueError
            If the arm is not paused.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            number = desk.numbers[desk.find_arm(label)]
            if label not in desk.paused:
                known = [each for each in desk.active if each in desk.paused]
                raise ValueError(f"arm {label!r} is not paused; the paused arms are {known}")
            paused = desk.paused - {label}
            desk.log([("resume_arm", None, number, None)], desk.set_paused, paused)

    def set_floors(self, floor: float | Mapping[L, float] | None) -> None:
        """Replace the traffic floors from the next decision on.

        Decisions that are out keep the probability that they were taken with.

        Parameters
        ----------
        floor
            As for `Bandit`: a share for some arms, or one for every arm including those added
            later; None for no floors. An arm that is not named has none, also if it had one.

        Raises
        ------
        ValueError
            If an arm is not active, a share does not lie between 0 and 1, or their sum exceeds 1.
            The floors stay as they were then.
        """
        desk = self._desk
        with desk.lock:
            desk.settle()
            shares = check_floor(floor, desk.active)
            of_all = shares[0] if shares and not isinstance(floor, Mapping) else None
            event = floors_event(shares, of_all, desk.numbers)
            live = desk.live.with_floors(shares)
            desk.log([event], desk.set_floors, live, of_all)

    def reseed(self, seed: Seed = None) -> None:
        """Continue with other random numbers: so a copy stops deciding like its original.

        Parameters
        ----------
        seed
            Anything that `numpy.random.SeedSequence` takes; None for a fresh seed.
        """
        key = key_of(seed)
        desk = self._desk
        with desk.lock:
            desk.settle()
            desk.reseed(key)

    def attach(
        self, journal: Journal | None, reload: "Callable[[], Bandit[L]] | None" = None
    ) -> None:
        """Call `journal` with the events of every change from now on.

        If `journal` raises an error, the bandit does not change.

        Parameters
        ----------
        journal
            A function that takes a list of events; it is called under the bandit's lock. None
            detaches the journal.
        reload
            A function that returns the bandit in the state that the journal has recorded. It is
            needed if, after an error or an interrupt, you cannot know whether the journal has
            recorded the events. Without it, each `ask` makes a copy of the bandit.

        Raises
        ------
        TypeError
            If `journal` or `reload` cannot be called.
        ValueError
            If the bandit belongs to a store. Attach your journal to a copy of it.
        """
        if journal is not None and not callable(journal):
            raise TypeError(f"{journal!r} cannot be called; give a function of a list of events")
        if reload is not None and not callable(reload):
            raise TypeError(f"{reload!r} cannot be called; give a function that returns a bandit")
        with self._desk.lock:
            if self._desk.has_keeper:
                raise ValueError(
                    "this bandit has a journal that must not be lost, such as a store's; "
                    "attach yours to a copy() of the bandit"
                )
            self._desk.attach(journal, None if reload is None else lambda: reload()._desk)

    def on_event(self, function: Hook) -> Callable[[], None]:
        """Call a function after each change of this bandit from now on: for metrics, say.

        It works for a bandit of a store as well, until that bandit is released. Changes that the
        opening of a store repeats are not announced.

        Parameters
        ----------
        function
            It is called with a `BanditEvent`, in the thread that made the change, which meanwhile
            holds the bandit's lock: so keep it short, and do not change the bandit in it. Its
            errors go to the logger "lastblock", and undo nothing.

        Returns
        -------
        callable
            Call it to end this.
        """
        return self._desk.on_event(function)

    def apply(self, event: Event) -> None:
        """Make the change that another bandit has written to its journal.

        Parameters
        ----------
        event
            An event as a journal receives it.

        Raises
        ------
        ValueError
            If the event is unknown or does not fit this bandit, which then has not changed.
        """
        with self._desk.lock:
            apply_event(self, self._desk, event)

    @property
    def is_compiled(self) -> bool:
        """Whether it runs compiled code by now; until then it decides in plain Python."""
        return self._desk.live.is_compiled

    def compile(self) -> None:
        """Wait until the code for this bandit is compiled, or loaded from the cache.

        Nothing else waits for that: it happens in the background, and `ask` and `tell` take about a
        millisecond meanwhile instead of a microsecond.

        Raises
        ------
        Exception
            What numba raises if your own policy cannot be compiled.
        """
        self._desk.live.compile()  # without the lock, so that other threads can go on

    def copy(self) -> "Bandit[L]":
        """Return an independent bandit in the same state.

        Returns
        -------
        Bandit
            It makes the same decisions after the same rewards, until one of the two is reseeded.
        """
        desk = self._desk
        with desk.lock:
            copied = JournalledDesk(desk.live.copy(), desk.labels, desk.floor_of_all)
            desk.copy_to(copied)
            if desk.clock is not None:
                copied.ledger = desk.ledger.outside()
            copied.choose_ways()  # since it goes by the arms which ways are fast
            return bandit_on(copied)

    def __copy__(self) -> "Bandit[L]":
        return self.copy()

    def __deepcopy__(self, memo: object) -> "Bandit[L]":
        return self.copy()

    def __reduce__(self) -> tuple[Any, ...]:
        return self.__class__.from_bytes, (self.to_bytes(),)

    @classmethod
    def from_bytes(cls, data: bytes) -> "Bandit[Any]":
        """Return the bandit that `to_bytes` wrote; it continues bit for bit.

        Parameters
        ----------
        data
            What `to_bytes` returned.

        Raises
        ------
        StateFileError
            If `data` is damaged, or is not the state of a bandit that this version can read.
        """
        return _ready(restore_desk(*snapshot.unpack(data)))

    @classmethod
    def from_json(cls, text: str) -> "Bandit[Any]":
        """Return the bandit that `to_json` wrote; errors are those of `from_bytes`.

        Parameters
        ----------
        text
            What `to_json` returned.
        """
        return _ready(restore_desk(*snapshot.from_text(text)))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Bandit[Any]":
        """Return the bandit that `save` wrote to a file; errors are those of `from_bytes`.

        Parameters
        ----------
        path
            The file.

        Raises
        ------
        OSError
            If the file cannot be read.
        """
        return cls.from_bytes(files.read(path, "give the name of a file that save() wrote"))


def desk_of(bandit: Bandit[L]) -> JournalledDesk[L]:
    """Return the desk of a bandit, to which a store attaches its journal."""
    return bandit._desk


def bandit_on(desk: JournalledDesk[L]) -> Bandit[L]:
    """Return a bandit that works on an existing desk."""
    bandit: Bandit[L] = Bandit.__new__(Bandit)
    bandit._desk = desk
    return bandit


def _ready(desk: JournalledDesk[Any]) -> Bandit[Any]:
    """Return a bandit that works on a new desk; have its kernels compiled."""
    desk.ledger.keep_only(desk.out)
    desk.live.compile_soon()
    return bandit_on(desk)


def _older(desk: JournalledDesk[Any], age: timedelta) -> list[int]:
    """Return the numbers of the decisions that began longer ago than `age`, in that order."""
    if desk.clock is None:
        raise _no_times(f"older_than={age!r}")
    limit = desk.clock.tick() - age // timedelta(microseconds=1)
    late, activated = [], desk.ledger.activated
    for id, time in desk.ledger.asked_at.items():  # in order
        if time >= limit:
            break
        if activated.get(id, time) < limit:
            late.append(id)
    return desk.ledger.by_age(late)


def _no_times(what: str) -> ValueError:
    return ValueError(
        f"{what} needs the times of decisions, which only a bandit in a store has; create it with "
        "Store(), or give older_than as a number of decisions"
    )
