//! What a provider would refuse, said before it does: one file a provider.

mod anthropic;
mod openai_chat;
mod openai_responses;

use std::collections::HashSet;

use crate::ledger::{Ledger, Role};
use crate::shape::Provider;

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Position of the message; that of the last one for what is missing at the end.
    pub index: usize,
    /// Position of the block in it, `None` where the whole message is meant.
    pub block: Option<usize>,
    /// Short name of the rule.
    pub code: &'static str,
    /// The provider's own words, ids filled in.
    pub message: String,
    /// What to do.
    pub fix: &'static str,
}

/// What depends on the model or the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Calls at the end may still be running.
    pub in_flight: bool,
    /// The model can be given the beginning of its answer.
    pub prefill: bool,
    /// Whether thinking is switched on; `None` if that is not known.
    pub thinking: Option<bool>,
}

impl Default for Options {
    fn default() -> Self {
        Self { in_flight: false, prefill: true, thinking: None }
    }
}

/// Everything that `provider` would refuse about a transcript, in its order; empty if nothing.
#[must_use]
pub fn validate(ledger: &Ledger, provider: Provider, options: Options) -> Vec<Problem> {
    let mut found = Findings { ledger, blocks: provider == Provider::Anthropic, problems: Vec::new() };
    match provider {
        Provider::Anthropic => anthropic::check(&mut found, options),
        Provider::OpenAiChat => openai_chat::check(&mut found, options),
        Provider::OpenAiResponses => openai_responses::check(&mut found, options),
    }
    found.problems.sort_by_key(|p| p.index); // stable: rules keep their order within a message
    found.problems
}

/// The problems found so far, and the ledger that they are found in.
struct Findings<'a> {
    ledger: &'a Ledger,
    /// Whether a row is a block of its message: elsewhere calls and results stand beside the content.
    blocks: bool,
    problems: Vec<Problem>,
}

impl Findings<'_> {
    /// Records a problem of a whole message.
    fn message(&mut self, index: usize, code: &'static str, message: impl Into<String>, fix: &'static str) {
        self.problems.push(Problem { index, block: None, code, message: message.into(), fix });
    }

    /// Records a problem of one row.
    fn row(&mut self, row: usize, code: &'static str, message: impl Into<String>, fix: &'static str) {
        let index = self.ledger.owner[row] as usize;
        let block = self.blocks.then(|| row - self.ledger.first[index] as usize);
        self.problems.push(Problem { index, block, code, message: message.into(), fix });
    }
}

/// The partner of a row, if it has one.
fn partner(ledger: &Ledger, row: usize) -> Option<usize> {
    usize::try_from(ledger.pair[row]).ok()
}

/// The last message that the model wrote: its calls may still be running.
fn running(ledger: &Ledger) -> usize {
    ledger.role.iter().rposition(|r| *r == Role::Assistant).unwrap_or(0)
}

/// Rows whose id stood before, among those that `pick` picks.
fn repeated(ledger: &Ledger, pick: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut seen: HashSet<&str> = HashSet::new();
    (0..ledger.rows())
        .filter(|&row| pick(row) && !ledger.ids.get(row).is_empty())
        .filter(|&row| !seen.insert(ledger.ids.get(row)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Builder;
    use crate::node::tests::Value;
    use crate::text::{Counter, Encoding};
    use crate::value;

    fn codes(provider: Provider, messages: &[Value], options: Options) -> Vec<&'static str> {
        let mut builder = Builder::default();
        for message in messages {
            provider.read(message, &mut builder).unwrap();
        }
        let ledger = builder.finish(&Counter::exact(Encoding::O200k)).unwrap();
        validate(&ledger, provider, options).iter().map(|p| p.code).collect()
    }

    #[test]
    fn an_open_call_is_valid_only_while_it_runs() {
        let messages = [
            value!({"role": "user", "content": "go"}),
            value!({"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}),
        ];
        let running = Options { in_flight: true, ..Options::default() };
        assert_eq!(codes(Provider::Anthropic, &messages, Options::default()), ["tool_use_without_result"]);
        assert!(codes(Provider::Anthropic, &messages, running).is_empty());
    }

    #[test]
    fn each_provider_refuses_an_empty_list() {
        for (_, provider) in Provider::NAMES {
            assert_eq!(codes(provider, &[], Options::default()), ["empty_messages"]);
        }
    }

    #[test]
    fn an_orphan_result_is_named() {
        let output = value!({"type": "function_call_output", "call_id": "x", "output": "1"});
        assert_eq!(codes(Provider::OpenAiResponses, &[output], Options::default()), ["output_without_call"]);
        let tool =
            [value!({"role": "user", "content": "q"}), value!({"role": "tool", "tool_call_id": "x", "content": "1"})];
        assert_eq!(codes(Provider::OpenAiChat, &tool, Options::default()), ["orphan_tool"]);
    }
}
