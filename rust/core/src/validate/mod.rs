//! Rules by which providers refuse a transcript: one file a provider.

mod anthropic;
mod bedrock;
mod gemini;
mod limits;
mod openai_chat;
mod openai_responses;
mod since;
mod thinking;
mod turns;

use std::collections::HashSet;

use crate::error::Error;
use crate::ledger::{Kind, Ledger, Role};
use crate::setting::Setting;
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
    /// A remedy.
    pub fix: &'static str,
}

/// Rules that depend on the model or the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a rule of its own, on or off
pub struct Options {
    /// Calls at the end may still be running.
    pub in_flight: bool,
    /// The model can be given the beginning of its answer.
    pub prefill: bool,
    /// Whether thinking is switched on; `None` if that is not known.
    pub thinking: Option<bool>,
    /// Whether the model binds its thinking to all that stood before it, and no longer asks for any in a tool loop.
    pub binds: bool,
    /// Whether roles must alternate; some providers merge neighbours of one role.
    pub alternation: bool,
    /// Cache markers that the request has outside of its messages.
    pub markers: usize,
    /// Whether the request names its container, or may.
    pub container: bool,
    /// Whether the request defines tools; `None` if that is not known.
    pub tools: Option<bool>,
    /// Whether the model takes system messages between the others; `None` if that is not known.
    pub system_role: Option<bool>,
    /// Whether to name what is let through because no document says that the provider refuses it.
    pub notes: bool,
    /// Whether the request may have system messages for one turn.
    pub clear_at: bool,
    /// Whether it may have system messages with settings.
    pub output_config: bool,
    /// Whether it may have system messages that add and remove tools.
    pub tool_changes: bool,
    /// Whether calls of the current turn must have a signature.
    pub signatures: bool,
    /// Most pictures in a request.
    pub pictures: usize,
    /// Most characters of a picture's base64.
    pub picture: u32,
    /// Most bytes of a request; `None` if no limit is known.
    pub request: Option<u64>,
    /// Bytes of the request beside its messages.
    pub beside: u64,
    /// The first message that is looked at: those in front of it were found valid. Limits of the whole list hold anyway.
    pub since: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            in_flight: false,
            prefill: true,
            thinking: None,
            binds: false,
            alternation: false,
            markers: 0,
            container: true,
            tools: None,
            system_role: None,
            notes: false,
            clear_at: true,
            output_config: true,
            tool_changes: true,
            signatures: false,
            pictures: 600,
            picture: 10 * 1024 * 1024,
            request: None,
            beside: 0,
            since: 0,
        }
    }
}

impl Options {
    /// Changes one option, by name.
    ///
    /// # Errors
    ///
    /// [`Error::Argument`] for an unknown name and for a value of another type or range.
    pub fn set(&mut self, name: &str, value: Setting<'_>) -> Result<(), Error> {
        match name {
            "in_flight" => self.in_flight = value.flag()?,
            "prefill" => self.prefill = value.flag()?,
            "thinking" => self.thinking = value.known_flag()?,
            "binds" => self.binds = value.flag()?,
            "alternation" => self.alternation = value.flag()?,
            "markers" => self.markers = value.number()?,
            "container" => self.container = value.flag()?,
            "tools" => self.tools = value.known_flag()?,
            "system_role" => self.system_role = value.known_flag()?,
            "notes" => self.notes = value.flag()?,
            "clear_at" => self.clear_at = value.flag()?,
            "output_config" => self.output_config = value.flag()?,
            "tool_changes" => self.tool_changes = value.flag()?,
            "signatures" => self.signatures = value.flag()?,
            "pictures" => self.pictures = value.number()?,
            "picture" => self.picture = value.number()?,
            "request" => self.request = value.known_number()?,
            "beside" => self.beside = value.number()?,
            "since" => self.since = value.number()?,
            _ => return Err(Error::Argument(format!("unknown rule {name:?}"))),
        }
        Ok(())
    }
}

/// Everything that `provider` would refuse about a transcript, in its order; empty if nothing.
///
/// `original` is the transcript as the model knew it, before anything was edited: what thinking and stored items are
/// bound to is judged against it.
#[must_use]
pub fn validate(ledger: &Ledger, provider: Provider, options: Options, original: Option<&Ledger>) -> Vec<Problem> {
    let blocks = !matches!(provider, Provider::OpenAiChat | Provider::OpenAiResponses);
    let from = since::start(ledger, provider, options.since);
    let mut problems = if from == 0 {
        rules(ledger, provider, options, original, blocks)
    } else {
        since::shifted(rules(&ledger.tail(from), provider, options, original, blocks), from)
    };
    let mut found = Findings { ledger, blocks, problems: Vec::new() };
    match provider {
        Provider::Anthropic if ledger.messages() > 0 => limits::check(&mut found, options),
        Provider::Bedrock => limits::markers(&mut found, options),
        _ => {}
    }
    limits::bytes(&mut found, options);
    problems.append(&mut found.problems);
    problems.sort_by_key(|p| p.index); // stable: rules keep their order within a message
    problems
}

/// Reports what a provider refuses in the messages, apart from their number.
fn rules(
    ledger: &Ledger,
    provider: Provider,
    options: Options,
    original: Option<&Ledger>,
    blocks: bool,
) -> Vec<Problem> {
    let mut found = Findings { ledger, blocks, problems: Vec::new() };
    match provider {
        Provider::Anthropic => anthropic::check(&mut found, options, original),
        Provider::OpenAiChat => openai_chat::check(&mut found, options),
        Provider::OpenAiResponses => openai_responses::check(&mut found, options, original),
        Provider::Bedrock => bedrock::check(&mut found, options, original),
        Provider::Gemini => gemini::check(&mut found, options),
    }
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

/// Compactions that the provider wrote, and that are not those of `original`.
fn changed_compactions(ledger: &Ledger, original: &Ledger) -> Vec<usize> {
    let compactions = |of: &Ledger| (0..of.rows()).filter(|&row| of.kind[row] == Kind::Compaction).collect::<Vec<_>>();
    let known: HashSet<[u8; 16]> = compactions(original).into_iter().map(|row| original.content[row]).collect();
    let is_changed = |row: &usize| !known.is_empty() && !known.contains(&ledger.content[*row]);
    compactions(ledger).into_iter().filter(is_changed).collect()
}

/// The last message that the model wrote: its calls may still be running.
fn running(ledger: &Ledger) -> usize {
    ledger.role.iter().rposition(|r| *r == Role::Assistant).unwrap_or(0)
}

/// Rows whose id stood before, among those that `pick` picks.
fn repeated(ledger: &Ledger, pick: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut seen = vec![false; ledger.rows()];
    (0..ledger.rows())
        .filter(|&row| pick(row) && !ledger.ids.get(row).is_empty())
        .filter(|&row| std::mem::replace(&mut seen[ledger.same_id[row] as usize], true))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counter::Counter;
    use crate::ledger::Builder;
    use crate::node::tests::Value;
    use crate::value;
    use trimtab_tokens::Encoding;

    fn codes(provider: Provider, messages: &[Value], options: Options) -> Vec<&'static str> {
        let mut builder = Builder::default();
        for message in messages {
            provider.read(message, &mut builder).unwrap();
        }
        let ledger = builder.finish(&Counter::from(Encoding::O200k)).unwrap();
        validate(&ledger, provider, options, None).iter().map(|p| p.code).collect()
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
