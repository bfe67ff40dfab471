"""Everything that the author of a policy, a change detector or an arm family imports. ::

    from lastblock.kit import Layout, Record, argmax, enqueue, enqueue_all, policy, shuffle

What is here stays. `lastblock.testing` checks what you have written. Names marked * are for plain
Python, all other functions are kernels, which your methods, compiled too, can call.

**Declaring.** A class is a `NamedTuple` of parameters with a decorator.

=================  ================================================================================
`policy` *         register a policy: methods `layout`, `plan`, `observe`
`detector` *       register a change detector: methods `layout`, `reset`, `notice`
`family` *         register an arm family: `mean`, `parameters`, static method `draw`
`Policy`           the type of any policy, for annotations
`Detector`, `Arm`  the types of any change detector, and of any arm
`Record`           the type of a state: a record whose fields read as attributes
`Layout`           the type of what `layout` returns: names, types and shapes of the fields
=================  ================================================================================

A policy has the methods `layout`, `plan` and `observe`. All others are optional.
`start(self, s)`, a kernel, queues the first round, if that is not every arm once in random order,
and sets the fields that do not begin with zero. `full(self, s, arm)`, a kernel, says that one more
reward does not fit; it goes with ``grows=True``, or with a property `grows` if that depends on
parameters. `support(self)`, a kernel, returns the smallest and the largest reward that it takes, as
does ``@policy(support="unit")``. `validate(self)` raises a `ValueError` for parameters that do not
go together. `resized(self, s, before, arm)` brings along what was derived from the number of arms
when an arm has come or gone, `replanned(self, s, planned, kept)` puts right what a decision without
some arms has left. `held(self, s, arm)` and `explain(self, s)` say what it knows and why it acted,
where its fields do not, see below. ``@policy(optimistic=True)`` promises a field `index` of upper
bounds, for `Master`; ``@policy(examples=[…])`` has parameters to test.

**Parameters.** The annotation is the type of a parameter, and what it may be. One of the type
`Policy` or `Detector` is checked, too.

=================  ================================================================================
`Positive`         a number above 0
`NotNegative`      a number of at least 0
`Share`            a number from 0 to 1
`Chance`           a number between 0 and 1
`Discount`         a number above 0 and at most 1
`Sigma`            a positive number, for the Gaussian family only
`Range`            other bounds: ``Annotated[int, Range(1, unit="pulls")]``
`ForArms`          a rule that depends on the number of arms, likewise
`whole` *          for class methods: a whole number, or a `ValueError` that names the argument
`number` *         a finite number, likewise
`choice` *         a member of an enumeration, given by its word, likewise
`Support`          the rewards between two bounds
`support_of` *     the rewards that a policy takes, for a wrapper
=================  ================================================================================

**Fields.** What a layout is made of, besides numpy's integers and floats. Before `start` all are
zero, except records within the record: functions of their own clear these. Where a type has bounds,
they are checked when a record is loaded, since compiled code goes where its numbers send it. A
wrapper has the wrapped policy as a parameter, and its record in the field `inner`.

=================  ================================================================================
`COUNT`            a field that counts something, or that says when something happened
`WEIGHT`           a field that counts something that fades, as a float
`FLAG`             a field that says yes or no: 1 or 0
`INDEX`            a field used as an index: unsigned, hence faster
`ARM`              a field that holds the number of an arm, or `NOBODY`; renumbered when arms go
`LINE`             an array that holds every arm once, in some order; renumbered likewise
`NOBODY`           no arm, in a field that holds one
`within` *         a field whose numbers lie between two bounds, such as places in a list
`below_arms` *     a field whose numbers lie below the number of arms
`record` *         a record as a field: its type, from a layout
`record_of` *      the whole record of another policy, for a wrapper
`capacity` *       the next power of two, for the length of a ring
`FIRST_ROOM`       rewards of an arm to make room for when there is no horizon
=================  ================================================================================

**The round.** `plan`, and `start` if there is one, queue at least one arm.

=================  ================================================================================
`enqueue`          add an arm to the round
`enqueue_all`      every arm once
`shuffle`          put the round's arms in random order, so that none is favoured by its number
`stop_waiting`     what is out counts no longer; a policy with a window may do so more often
=================  ================================================================================

**The largest index**, for policies that pull one arm.

=================  ================================================================================
`argmax`           the arm with the largest index; ties are broken at random
`unseen`           the index of an arm none of whose rewards has arrived
`tried_enough`     whether an arm that has not answered yet must let others go first
=================  ================================================================================

**Rewards kept.** Modules, since their functions have the same names: ``history.append(s.history,
arm, reward)``. Their records are fields, which `start` clears: ``history.clear(s.history)``.

`history` has the last rewards of each arm: the sum of any of its newest blocks in O(1), without
drift.

=====================  ============================================================================
`history_dtype`        the type of the field: room for so many rewards of each arm
`clear`                forget everything
`append`               add the newest reward; a full history loses its oldest
`block_sum`            the sum of the last n rewards, 0 ≤ n ≤ ``h.kept[arm]``
`block_mean`           their mean, for n ≥ 1
`forget_oldest`        keep one reward less
`forget_if`            the same if it is due, without a branch
`held`                 plain Python: what the method ``held`` of a policy returns
`is_full`              whether the next reward would push an older one out
`span_sum`             the sum of n rewards from any place, while none has been pushed out
`any_span_at_most`     whether some block of n rewards has a sum of at most a bound
`LARGEST_RINGS`        the most bytes that the rewards of all arms may take
=====================  ============================================================================

`marks` has sums of about the last n rewards of each arm, for any n, in O(log T) numbers.

=====================  ============================================================================
`marks_dtype` *        the type of the field, for so many marks a level and a horizon
`clear_marks`          forget everything
`clear_arm`            forget the rewards of one arm
`take_in`              add the newest reward, also to an array of the sums of all rewards
`begin_block`          the mark from which the last n rewards are counted
`block_sum`            the sum of the rewards since that mark
`is_at_least`          whether one mean is at least another one, without rounding
`is_full`              whether an arm has as many rewards as fit: for `full`
`half_of`              half the marks of a level: for `begin_block`
`levels_of`            how many levels there are: likewise
`Block`                which mark to take: the nearest one, the one before or the one after
`BlockWord`            the same as a word
=====================  ============================================================================

`window` has the last rewards of all arms together, with counts and sums per arm.

=====================  ============================================================================
`window_dtype`         the type of the field: room for so many rewards
`clear`                forget everything
`slide`                take in a reward; the one of `window` rewards ago falls out
`window_sum`           the sum of the arm's rewards within the window; ``w.pulls[arm]`` counts them
`held`                 plain Python: what the method ``held`` of a policy returns
`Window`               the type of a parameter that is the length of a window
`FITS_ARMS`            a rule for such a type: the window has room for a reward of every arm
`LONGEST_WINDOW`       the longest window there can be
=====================  ============================================================================

`multiset` has every reward of an arm: those equal to 0 or 1 are counted, the others are kept.

=====================  ============================================================================
`atoms_dtype`          the type of the field: any number of zeros and ones, so many other rewards
`clear`                forget everything
`append`               add a reward; it must fit
`size`                 how many rewards the arm has had
`held`                 plain Python: what the method ``held`` of a policy returns
`is_full`              whether one more reward might not fit: return it from the method `full`
=====================  ============================================================================

Besides:

=================  ================================================================================
`two_sum`          a sum as rounded, and what rounding took away
`bit_length`       the number of binary digits of a whole number
=================  ================================================================================

**Duels**, for subsampling policies.

====================  =============================================================================
`duel_fields` *       the fields that the next four need: leader, sampling obligation
`start_duels`         no leader, no obligation, and every arm once
`update_leader`       the leader: most pulls, then the largest sum, then at random
`update_obligation`   how many pulls every arm is owed in a round
`is_owed`             whether an arm is pulled without a duel
`wins_duel`           the challenger's mean against that of as many of the leader's last rewards
`is_ahead`            whether the leader has strictly more pulls than anyone
`most_pulled`         the leader among some candidates
`obligation`          the number of pulls that every arm is owed
`obligation_lasts`    a round below which that number stays
====================  =============================================================================

**What a policy says of itself**, in plain Python, when `Bandit.summary` and `Bandit.explain` ask.
Most policies need no method, since the names of their fields say so:

============================  ======================================================================
``pulls``, ``sums``           for each arm, the number of rewards and their sum
``history``                   the rewards themselves: a field of `history` or `multiset`
``recent``                    the same, of `window`, with a parameter ``window``
``index``, ``chance``         the numbers by which an arm is chosen, the largest one or at random
``due``                       a flag: the policy starts anew with the next decision
============================  ======================================================================

A policy with other fields has methods, and so has a wrapper that does more than pass rewards and
arms on to the policy whose record is its field ``inner``:

============================  ======================================================================
``held(self, s, arm)``        returns a `Held`: the rewards of the arm that the policy still uses
``explain(self, s)``          returns a `Reason` for the arms of the round: a list of `Verdict`, one
                              for each challenger; or `Scores`; or, for a wrapper, an `Aside`, if
                              the wrapped policy has not just chosen
============================  ======================================================================

Both may return None.

=================  ================================================================================
`Held`             the rewards of an arm that a policy uses: their number, and their sum or
                   a function that returns them
`NOTHING_HELD`     for a policy that has just forgotten everything
`Reason`           the type of what ``explain`` returns
`Scores`           the numbers by which a policy chose, and what to call them
`Aside`            why a wrapper pulls an arm that the wrapped policy has not just chosen
`held`             what a policy holds of an arm: a wrapper asks the policy that it wraps
`explain_next`     why an arm is pulled, where a wrapper hands out one arm of the wrapped policy's
                   round at a time
`BEGUN`            a reason: the wrapped policy begins as if new, with every arm once
`QUEUED`           a reason: the wrapped policy planned the arm before, as part of a round
=================  ================================================================================

=================  ================================================================================
`Verdict`          one arm beside the leader: the reason, both blocks and their means
`judge` *          the verdicts of a policy with `duel_fields` and a history
`REASONS`          what each reason means, in words
=================  ================================================================================

The reasons: `FORCED`, `WON`, `LOST`, `WAITS`, `FLAGGED`, `PROBED`, `FULL`, `DOUBTED`, `SILENT`,
`LEVEL`, `LOOKED`, `BEGUN`, `QUEUED`.

**Restarts**, for policies that begin again: `Bandit.changes` reports them.

==================  ===============================================================================
`restart_fields` *  counters, and the last few restarts
`clear_restarts`    none so far
`note_restart`      count a restart and remember it
==================  ===============================================================================

**Wrapping** another policy, whose record is the field `inner`; see `policies/restarting.py`.

=====================  ============================================================================
`resized` *            let the inner policy bring along what depends on the number of arms
`share_stream`         give the inner policy its random stream, and keep another one
`ready_to_start`       the inner record, before its policy starts
`clear_fields`         set the fields of a record to zero: for a wrapper with several records
`ready_to_plan`        the inner record, before its policy plans a round …
`planned`              … and what to do afterwards
`ready_to_observe`     the inner record, before its policy gets a reward
`take_next`            hand out the next arm of the inner policy's round
`check_round`          before a wrapper hands out several arms itself: is the inner round sound?
`note_method`          say that `NOTICE` or `RESET` of a detector runs, and 0 when it has returned …
`NOTICE`, `RESET`      … so that an error in compiled code can name the method
=====================  ============================================================================

**Random draws.** A policy draws from `s.stream` and from nothing else. An arm family gets one
random word for each reward.

==========================  =======================================================================
`Stream`                    the type of a random stream
`uniform`                   a uniform on [0, 1)
`below`                     a uniform whole number in 0 … n − 1
`normal`                    a standard normal
`exponential`               a standard exponential
`gamma`                     a standard gamma variate
`beta`                      a Beta variate
`poisson`                   a Poisson count
`binomial`                  a binomial count
`hypergeometric_at_most`    a coin: at most x of n things drawn without replacement are good
`coin`                      1 with a given probability, else 0
`next_word`                 64 random bits
`to_unit`                   a uniform on [0, 1) from such a word
`to_open_unit`              a uniform on (0, 1), for quantile functions that are infinite at an end
`normal_of`                 a standard normal from one word
`normal_quantile`           the standard normal quantile function
`log_factorial`             the logarithm of k!, also between whole numbers
`expand`                    turn one word into a stream, for samplers that need more
`clipped`                   the nearest number in [0, 1]
==========================  =======================================================================

**Families that policies are told**, such as ``family="gaussian"``.

=================  ================================================================================
`Family`           the one-parameter families; a field is annotated ``Family | FamilyWord``
`FamilyWord`       the same as words
`Law`              the families, and "bounded": any law on [0, 1]; ``Law | Family | LawWord``
`LawWord`          the same as words
`FamilyCode`       the type that a kernel annotates its argument with
=================  ================================================================================

`best_proportions` are the proportions of pulls that tell the best arm from the others soonest, and
`divergences` is a module. The first argument of its functions is a number: a field ``Family |
FamilyWord`` of a policy, or one of `BERNOULLI`, `GAUSSIAN`, `POISSON`, `EXPONENTIAL`. `BOUNDED`,
any law on [0, 1], has a support but no divergence.

=====================  ============================================================================
`divergence`           kl(p, q) between the members of the family with means p and q
`upper`                the largest q with kl(p, q) ≤ level: the index of kl-UCB
`lower`                the smallest q with kl(p, q) ≤ level
`inside`               the nearest mean that the family allows
`family_support`       the smallest and the largest reward of the family
=====================  ============================================================================

**Compiling.** Methods of a registered class are compiled by themselves. Functions that they call
need a decorator.

=================  ================================================================================
`kernel` *         compile a short function into every kernel that calls it
`routine` *        compile a long function once; kernels call it
`plain` *          the Python function behind a kernel, for what happens rarely
=================  ================================================================================
"""

from lastblock.core import history, marks, multiset, window
from lastblock.core.checked import NOTICE, RESET, check_round, note_method
from lastblock.core.describing import explain_next, held
from lastblock.core.duels import (
    duel_fields,
    is_ahead,
    is_owed,
    most_pulled,
    obligation,
    obligation_lasts,
    start_duels,
    update_leader,
    update_obligation,
    wins_duel,
)
from lastblock.core.families import Arm, family
from lastblock.core.indices import argmax, tried_enough, unseen
from lastblock.core.layout import (
    ARM,
    COUNT,
    FIRST_ROOM,
    FLAG,
    INDEX,
    LINE,
    NOBODY,
    WEIGHT,
    below_arms,
    capacity,
    record,
    record_of,
    within,
)
from lastblock.core.parameters import (
    Chance,
    Discount,
    ForArms,
    NotNegative,
    Positive,
    Range,
    Share,
    Sigma,
)
from lastblock.core.protocol import (
    NOTHING_HELD,
    Aside,
    Detector,
    Held,
    Layout,
    Policy,
    Reason,
    Record,
    Scores,
    resized,
)
from lastblock.core.registry import detector, policy
from lastblock.core.restarts import clear_restarts, note_restart, restart_fields
from lastblock.core.rounds import clear_fields, enqueue, enqueue_all, shuffle, stop_waiting
from lastblock.core.support import Support, support_of
from lastblock.core.verdicts import (
    BEGUN,
    DOUBTED,
    FLAGGED,
    FORCED,
    FULL,
    LEVEL,
    LOOKED,
    LOST,
    PROBED,
    QUEUED,
    REASONS,
    SILENT,
    WAITS,
    WON,
    Verdict,
    judge,
)
from lastblock.core.wrapping import (
    planned,
    ready_to_observe,
    ready_to_plan,
    ready_to_start,
    share_stream,
    take_next,
)
from lastblock.kernels import divergences
from lastblock.kernels.bits import bit_length
from lastblock.kernels.count_samplers import binomial, hypergeometric_at_most
from lastblock.kernels.divergences import Family, FamilyCode, FamilyWord, Law, LawWord
from lastblock.kernels.exact_sums import two_sum
from lastblock.kernels.jit import kernel, plain, routine
from lastblock.kernels.proportions import best_proportions
from lastblock.kernels.samplers import (
    beta,
    clipped,
    coin,
    exponential,
    gamma,
    log_factorial,
    normal,
    normal_of,
    normal_quantile,
    poisson,
)
from lastblock.kernels.streams import (
    Stream,
    below,
    expand,
    next_word,
    to_open_unit,
    to_unit,
    uniform,
)
from lastblock.support.checks import choice, number, whole

__all__ = [
    "ARM",
    "BEGUN",
    "COUNT",
    "DOUBTED",
    "FIRST_ROOM",
    "FLAG",
    "FLAGGED",
    "FORCED",
    "FULL",
    "INDEX",
    "LEVEL",
    "LINE",
    "LOOKED",
    "LOST",
    "NOBODY",
    "NOTHING_HELD",
    "NOTICE",
    "PROBED",
    "QUEUED",
    "REASONS",
    "RESET",
    "SILENT",
    "WAITS",
    "WEIGHT",
    "WON",
    "Arm",
    "Aside",
    "Chance",
    "Detector",
    "Discount",
    "Family",
    "FamilyCode",
    "FamilyWord",
    "ForArms",
    "Held",
    "Law",
    "LawWord",
    "Layout",
    "NotNegative",
    "Policy",
    "Positive",
    "Range",
    "Reason",
    "Record",
    "Scores",
    "Share",
    "Sigma",
    "Stream",
    "Support",
    "Verdict",
    "argmax",
    "below",
    "below_arms",
    "best_proportions",
    "beta",
    "binomial",
    "bit_length",
    "capacity",
    "check_round",
    "choice",
    "clear_fields",
    "clear_restarts",
    "clipped",
    "coin",
    "detector",
    "divergences",
    "duel_fields",
    "enqueue",
    "enqueue_all",
    "expand",
    "explain_next",
    "exponential",
    "family",
    "gamma",
    "held",
    "history",
    "hypergeometric_at_most",
    "is_ahead",
    "is_owed",
    "judge",
    "kernel",
    "log_factorial",
    "marks",
    "most_pulled",
    "multiset",
    "next_word",
    "normal",
    "normal_of",
    "normal_quantile",
    "note_method",
    "note_restart",
    "number",
    "obligation",
    "obligation_lasts",
    "plain",
    "planned",
    "poisson",
    "policy",
    "ready_to_observe",
    "ready_to_plan",
    "ready_to_start",
    "record",
    "record_of",
    "resized",
    "restart_fields",
    "routine",
    "share_stream",
    "shuffle",
    "start_duels",
    "stop_waiting",
    "support_of",
    "take_next",
    "to_open_unit",
    "to_unit",
    "tried_enough",
    "two_sum",
    "uniform",
    "unseen",
    "update_leader",
    "update_obligation",
    "whole",
    "window",
    "wins_duel",
    "within",
]
