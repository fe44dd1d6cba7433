"""Every constant of live text, with unit and source. What a platform allows is data of its capabilities.

"Simulated": chosen on seeds of their own against continuous token buckets and the exact optimum;
`docs/inside/live-text.md` says how, and `benchmarks/freshness` repeats the comparison. "Chosen": by judgement.
"""

from __future__ import annotations

EXPECTED_REST_TOKENS = 1.0
"""Token times (1 / rate) a text is expected to go on at least. Simulated; the same on all platforms."""
EXPECTED_REST_GROWTH = 0.3
"""Token times expected beyond that for a text that has lasted one. Simulated."""
EXPECTED_REST_POWER = 0.6
"""The growth with the token times a text has lasted, as a power. Simulated."""
SPARE_POWER = 0.7
"""Tokens that can be spared for the expected rest count as this power of them. Simulated."""
CROWDING_POWER = 0.3
"""Where more texts than the burst has tokens draw from a bucket, each expects a turn this power of the excess sooner
than if all took turns: many end before theirs comes. Simulated."""
WINDOW_REST = 0.6
"""A text is expected to go on for this part of the time it has lasted where calls are counted in a window. Simulated:
up to 30 s the bucket alone sets the pace, and no gap is longer than 5 s later."""
WINDOW_KEEPS = 1
"""The calls of a window that are reserved for ends. Chosen."""
END_WAITS_S = 0.3
"""A frame leaves a bucket such that an end right after it waits for a token no longer than this, seconds. Chosen: a
call in flight takes as long. It costs up to 2 % of mean delay, 6 % in groups, and shortens tails from seconds."""
PAUSE_WAITS_S = 1.2
"""The same for a frame that shows everything before a pause, seconds: what is shown then needs no end. Simulated."""
FIRST_CHARS = 20
"""Characters that justify the first frame at once. Simulated: showing the very first chunk costs 6 %."""
FIRST_HOLD_S = 0.3
"""Seconds after which the first frame is sent however short, when the text is alone in its bucket. Simulated."""
FIRST_HOLD_MAX_S = 2.0
"""The longest hold of a first frame when texts share a bucket: min(2 s, texts / (2 rate)). Simulated."""
QUIET_SPACINGS = 4.0
"""A source is quiet after this many usual spacings of its chunks. Simulated."""
QUIET_MIN_S = 0.1
"""A source is never called quiet earlier, in seconds. Simulated."""
ACTIVE_S = 5.0
"""Seconds of silence until a text that shows all no longer counts. Chosen: models pause less, tools work longer."""
SPACING_START_S = 0.1
"""The usual spacing of chunks before any was seen, seconds."""
SPACING_MAX_S = 0.5
"""A pause counts as at most this much spacing, seconds."""
SPACING_WEIGHT = 0.1
"""Weight of the newest spacing in the moving average."""
ELAPSED_MIN_S = 0.2
"""The mean speed of a text is taken over at least this many seconds."""
FINAL_WEIGHT = 1000.0
"""How much more a finished text counts than a growing one in score order: the shortest tails. Simulated."""
TIMER_MIN_S = 0.001
"""A timer is never set nearer than this, seconds: rounding must not make it spin."""
FLOOD_MARGIN_S = 0.02
"""Added to the platform's retry time, seconds: its clock and ours do not tick together."""
DOUBT_HOLDS_S = 2.0
"""A call without an answer may still land for this long, seconds; until then it counts as in flight. Chosen."""
RETRIES_AT_ONCE = 3
"""Repetitions after unclear answers that wait only for a token: most often the platform has done it. Chosen."""
RETRY_FIRST_S = 1.0
"""The wait before the next repetition, in seconds; it doubles each time. Chosen."""
RETRY_MAX_S = 30.0
"""The longest wait between repetitions, seconds. Chosen."""
PROOF_TOKENS = 8.0
"""Accepted calls prove a rate over windows of at least this many token times. Simulated."""
PROOF_CALLS = 600
PROOF_TRUST = 0.98
"""The part of a proven rate that is used. Simulated."""
CUT_LEAST = 0.95
"""A flood lowers the rate at least to this part of itself. Simulated."""
CUT_MOST = 0.8
"""A flood never lowers the rate below this part of itself. Simulated."""
CUT_EVERY_S = 1.0
"""One flood of many refused calls lowers the rate once in this many seconds."""
CLEAN_S = 600.0
"""Seconds without a flood after which the rate rises again by one step. Simulated."""
CLEAN_STEP = 0.97
"""One step of recovery divides the rate by this, up to the configured one. Simulated."""
TYPING_EARLY_S = 1.0
"""The typing sign is repeated this long before it would vanish, seconds."""
TYPING_LINGERS_S = 1.0
"""Seconds between the end of the work and the removal of the typing sign: agents pause for moments. Chosen."""
TYPING_LEAVES = 0.5
"""The typing sign must leave this part of a bucket's burst. Chosen: text comes first."""
COOL_DOWN_KEPT_S = 3.0
"""A pause that a platform asks for outlives this process if it is longer, seconds. Chosen: a start takes as long."""
CALLS_PROMISED_S = 1.0
"""The time after a note about calls in which no other is written, in seconds. A killed process has emptied its buckets
by the end of that time at the latest. Chosen: a start takes as long.
"""
SCARCE = 0.5
"""Below this part of its burst a bucket slows down the frames that draw from it. Chosen: a fuller one does not bind."""
