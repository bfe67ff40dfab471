"""The part of a live bandit that ends the wait for rewards, by number, by clock, or by hand."""

from datetime import timedelta
from typing import Any

from lastblock.engine.events import Event
from lastblock.live.aggregation import Rewards, check_rule
from lastblock.live.answering import end, ended_error, number_of_token
from lastblock.live.decisions import Decision, Pending
from lastblock.live.journalled import JournalledDesk
from lastblock.live.labels import L
from lastblock.live.memory import Remember, check_remember
from lastblock.live.restoring import Restorable
from lastblock.live.tokens import no_tokens
from lastblock.support.checks import at_least
from lastblock.support.errors import short

_AS_IT_IS: Any = object()


class EndsDecisions(Restorable[L]):
    """The part of a live bandit that ends the wait for rewards."""

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
            if type(decision) is not str or desk.tokens is None:
                desk.forget_each([desk.find(decision)])
                return
            number = number_of_token(desk, decision)
            if number in desk.out:
                note = "remember", number, None, ["forgotten", None, [number]]
                desk.end_each([], [(number, desk.out[number])], [note])
                return
            ended = desk.ledger.memory.ended(number)
            if ended is None or ended.outcome != "forgotten":
                raise ended_error(desk, decision, number)
            desk.check_open()

    def close(
        self, decision: Decision[L] | Pending[L] | int | str, *, reward: float | None = None
    ) -> float | None:
        """Stop waiting for further rewards of a decision: tell the policy what they come to.

        Parameters
        ----------
        decision
            What `ask` returned, or its id, or in a store its token. A token may be closed again.
        reward
            The reward to tell if none has come; without it the decision is then forgotten.

        Returns
        -------
        float or None
            What the policy was told; None if the decision was forgotten.

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
            if type(decision) is str and desk.tokens is not None:
                number = number_of_token(desk, decision)
                if number not in desk.out:
                    ended = desk.ledger.memory.ended(number)
                    if ended is None or ended.outcome != "closed":
                        raise ended_error(desk, decision, number)
                    desk.check_open()
                    return ended.reward
            else:
                number, _ = desk.find(decision)
            parts = desk.ledger.parts
            told = parts[number].value if number in parts else value
            notes: list[Event] = []
            if type(decision) is str:
                notes = [("remember", number, None, ["closed", told, [number]])]
            end(desk, [number], value, notes)
            return told

    def expire(
        self, *, older_than: int | timedelta, reward: float | None = None
    ) -> tuple[Pending[L], ...]:
        """Stop waiting for old decisions: forget them, or tell each the same reward.

        A decision that has had some of several rewards is told what they come to.

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
                newest = desk.next_id - 1 - limit
                late = sorted(id for id in desk.out if id < newest)
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
            if type(decision) is str:
                number = number_of_token(desk, decision)
                if number not in desk.out:
                    raise ended_error(desk, decision, number)
            else:
                number, _ = desk.find(decision)
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
            If an argument is out of range, or `rewards` is to change while decisions have had some
            of their rewards.
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
            return desk.tokens.make(desk.generations.id_of(number))

    @property
    def rewards(self) -> Rewards | None:
        """Which of a decision's several rewards the policy is told; None if each has one."""
        return self._desk.ledger.rule


def _older(desk: JournalledDesk[Any], age: timedelta) -> list[int]:
    """Return the numbers of the decisions that began longer ago than `age`, oldest first."""
    if desk.clock is None:
        raise _no_times(f"older_than={age!r}")
    limit = desk.clock.tick() - age // timedelta(microseconds=1)
    late, activated = [], desk.ledger.activated
    for id, time in desk.ledger.asked_at.items():  # in order
        if time >= limit:
            break
        if activated.get(id, time) < limit:
            late.append(id)
    return late


def _no_times(what: str) -> ValueError:
    return ValueError(
        f"{what} needs the times of decisions, which only a bandit in a store has; create it with "
        "Store(), or give older_than as a number of decisions"
    )
