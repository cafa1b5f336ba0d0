"""The sizes of a session's prompts: counted, forecast from the billed ones, rendered, asked of the provider."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from .. import _core
from ..counting.counter import fixed_tokens, overhead, scan
from ..counting.whole import framed
from ..events import UsageIgnored
from ..messages.request import request_bytes
from ..messages.usage import Usage
from ..planning.due import pressure
from ..planning.savings import Rates
from .call import Size
from .provider_count import ProviderCounts, request_of
from .rendered import RenderedPrompts

if TYPE_CHECKING:
    from typing import Self

    from ..compaction.effects import Flow
    from ..compaction.settings import Settings
    from ..counting.counter import Counter
    from ..counting.estimate import Estimate
    from ..planning.forecast import Forecast
    from .call import Call, ReadCall
    from .provider_count import ProviderCount


@dataclass
class SystemAndTools:
    """Counts system text and tools, which stay the same from call to call: again only after a change.

    A change inside of them is found like one in a message: every text and number is compared by identity and
    by content.
    """

    _seen: _core.Seen = field(default_factory=_core.Seen)
    _bytes: int | None = None
    _counted: dict[tuple[Counter, Estimate | None], tuple[int, int]] = field(default_factory=dict)

    def tokens(self, counter: Counter, estimate: Estimate | None, call: Call) -> tuple[int, int]:
        """Return the tokens of system text and of tools, these by the policy's own estimate if it has one."""
        self._look(call)
        known = self._counted.get((counter, estimate))
        if known is None:
            if estimate is None:
                known = fixed_tokens(counter, call.system, call.tools)
            else:
                known = fixed_tokens(counter, call.system)[0], estimate.overhead(call.tools)
            self._counted[counter, estimate] = known
        return known

    def bytes(self, call: Call) -> int:
        """Return the bytes of system text and tools in a request."""
        self._look(call)
        if self._bytes is None:
            self._bytes = request_bytes(call.system, call.tools)
        return self._bytes

    def _look(self, call: Call) -> None:
        """Forget what was counted of others."""
        known, places = self._seen.places((call.system, call.tools))
        if places != [*range(known, 2)]:
            self._counted.clear()
            self._bytes = None


@dataclass
class PromptSizes:
    """The sizes of a session's prompts: forecast, counted, rendered, and asked of the provider.

    Attributes:
        forecast: forecast of the next prompt's tokens.
        system_and_tools: their tokens and bytes.
        rendered: the prompts that a chat template rendered.
        counts: answers of the provider's counting endpoint.
    """

    forecast: Forecast
    system_and_tools: SystemAndTools = field(default_factory=SystemAndTools)
    rendered: RenderedPrompts = field(default_factory=RenderedPrompts)
    counts: ProviderCounts = field(default_factory=ProviderCounts)

    def aside(self) -> Self:
        """Return sizes that know the same: what is counted by them is not expected to be billed."""
        aside = copy(self)
        aside.forecast, aside.rendered = copy(self.forecast), copy(self.rendered)
        return aside

    def fixed(self, settings: Settings, call: Call) -> tuple[int, int]:
        """Return the tokens of system text and of tools, these by the policy's own estimate if it has one."""
        return self.system_and_tools.tokens(settings.counter, settings.policy.counter, call)

    def count(self, settings: Settings, call: ReadCall) -> int:
        """Return the tokens of a prompt: the last billed prompt, and the count of the messages since.

        A policy with its own estimate returns that.
        """
        ledger, counter, estimate = call.ledger, settings.counter, settings.policy.counter
        if counter.template is not None and self.rendered.is_alike is not False:
            whole, fixed = framed(ledger, call.messages, counter, call.system, call.tools)
            if fixed is not None:
                return whole.total + sum(fixed)
        besides = overhead(counter, system=call.system, tools=call.tools)
        own = besides if estimate is None else self._by_model(call)
        forecast = self.forecast.count(call.messages, fixed=own, ledger=ledger)
        return forecast if estimate is None else ledger.total + besides

    def size(self, settings: Settings, call: ReadCall, *, whole: bool = False) -> Size:
        """Return the sizes of the call's prompt; the next usage is for this call.

        Args:
            settings: the session's.
            call: the call.
            whole: render the prompt of a model with a chat template also where it is far from the trigger.
        """
        ledger = call.ledger
        forecast, estimate = self.forecast, settings.policy.counter
        fixed = self.system_and_tools.tokens(settings.counter, estimate, call)
        exact = None
        if settings.counter.template is not None:
            ledger, fixed, exact = self.rendered.size(settings, call, ledger, fixed, whole=whole)
        own = sum(fixed) if estimate is None else self._by_model(call)
        expected = forecast.count(call.messages, fixed=own, ledger=ledger)
        counted, total = forecast.own + own, ledger.total
        expected = expected if exact is None else exact
        terms = forecast.terms(settings.limits, total, *fixed, expected - total - sum(fixed) if estimate is None else 0)
        limit = settings.rule_options[ledger.provider]["request"]
        sent = 0 if limit is None else ledger.request_bytes + self.system_and_tools.bytes(call)
        prompt = max(counted + forecast.unseen, expected)
        pressed = pressure(settings.policy, terms, prompt, sent, limit)
        return Size(terms, fixed, own, counted, prompt, forecast.billed, sent, limit, pressed)

    def _by_model(self, call: Call) -> int:
        """Return the tokens of system text and tools by the model's counter, where the policy has an estimate."""
        return sum(self.system_and_tools.tokens(self.forecast.counters[0], None, call))

    def record(self, settings: Settings, usage: object, *, past: bool, cleared: int) -> UsageIgnored | None:
        """Learn from the usage of the last call; return the event of one that cannot be that call's.

        Args:
            settings: the session's.
            usage: the usage.
            past: whether it is of a session file, which tells of no cache that is still there.
            cleared: tokens that the provider's server took out of the prompt, which the list still has.

        Raises:
            ValueError: the usage has no prompt tokens, or one of its numbers is no integer from 0 to 2**53.
        """
        charged, limits = Usage.of(usage), settings.limits
        if cleared:
            charged = replace(charged, input=charged.input + cleared)
            limits = replace(limits, window=limits.window + cleared)
        if doubt := self.forecast.doubt(charged, limits):
            return UsageIgnored(charged, doubt)
        sent, now = self.forecast.pending, None if past else settings.clock()
        if sent is not None and not past and settings.counter.template is not None:
            self.rendered.judge(settings, sent, charged.prompt)
        self.forecast.record(charged, now, settings.model.cache_seconds)
        return None

    def rates(self, settings: Settings) -> Rates:
        """Return the cost of the next prompt's tokens, by the model's prices and the recorded usage."""
        model, readings = settings.model, self.forecast.readings
        cold = readings.cold(settings.clock(), model.cache_seconds)
        return Rates.of(model.price, cold, readings.mean_growth, hourly=readings.hourly)

    def check(self, settings: Settings, call: Call, client: Any) -> Flow[ProviderCount]:
        """Return the provider's count of the call's prompt, and the count here without any correction."""
        counted = scan(call.messages, settings.counter, settings.provider, settings.model.provider).total
        counted += overhead(settings.counter, system=call.system, tools=call.tools)
        request = request_of(settings, call.messages, call.system, call.tools)
        return (yield from self.counts.ask(client, request, counted))
