//! Where to begin if only the last messages are new.

use super::{Problem, partner};
use crate::ledger::{Ledger, Role};
use crate::shape::Provider;

/// The message from which on rules are asked: the start of a turn at or before `since` that no group straddles, so that
/// nothing in front of it decides about what comes behind; 0 where an id of a new call stood in front of it already.
pub fn start(ledger: &Ledger, provider: Provider, since: usize) -> usize {
    let since = since.min(ledger.messages());
    let begins = |at: &usize| *at == 0 || (ledger.safe[*at] && ledger.role[*at] != ledger.role[*at - 1]);
    // The message in front of the new ones may be judged by what follows it.
    let Some(from) = (0..since).rev().find(|at| begins(at) && !answers(ledger, *at)) else { return 0 };
    let row = ledger.first[from] as usize;
    let unique = matches!(provider, Provider::Anthropic | Provider::Bedrock | Provider::OpenAiResponses);
    let known = |new: usize| {
        (ledger.same_id[new] as usize) < row && (ledger.kind[new].is_call() || ledger.kind[new].is_result())
    };
    if unique && (row..ledger.rows()).any(known) { 0 } else { from }
}

/// Whether a message answers calls of the one in front of it: tools' messages stand apart in some shapes.
fn answers(ledger: &Ledger, at: usize) -> bool {
    ledger.role[at] == Role::Tool || ledger.rows_of(at).any(|row| partner(ledger, row).is_some_and(|other| other < row))
}

/// Problems of a tail as those of the whole. That it does not begin the list is none.
pub fn shifted(problems: Vec<Problem>, from: usize) -> Vec<Problem> {
    let begins = |problem: &Problem| {
        problem.index == 0 && matches!(problem.code, "first_message_role" | "function_call_position")
    };
    problems.into_iter().filter(|p| !begins(p)).map(|p| Problem { index: p.index + from, ..p }).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{Options, validate};
    use crate::counter::Counter;
    use crate::ledger::{Builder, Ledger};
    use crate::node::tests::Value;
    use crate::shape::Provider;
    use crate::value;
    use trimtab_tokens::Encoding;

    fn ledger(messages: &[Value]) -> Ledger {
        let mut builder = Builder::default();
        for message in messages {
            Provider::Anthropic.read(message, &mut builder).unwrap();
        }
        builder.finish(&Counter::from(Encoding::O200k)).unwrap()
    }

    /// A message of one block.
    fn message(role: &str, block: &[(&str, &str)]) -> Value {
        let text = |(key, value): &(&str, &str)| ((*key).to_owned(), Value::from(*value));
        let mut block: Vec<(String, Value)> = block.iter().map(text).collect();
        block.push(("input".to_owned(), value!({})));
        let content = Value::List(vec![Value::Map(block)]);
        Value::Map(vec![("role".to_owned(), Value::from(role)), ("content".to_owned(), content)])
    }

    fn loops(count: usize) -> Vec<Value> {
        let mut messages = vec![value!({"role": "user", "content": "go"})];
        for n in 0..count {
            let id = format!("t{n}");
            messages.push(message("assistant", &[("type", "tool_use"), ("id", &id), ("name", "f")]));
            messages.push(message("user", &[("type", "tool_result"), ("tool_use_id", &id), ("content", "x")]));
        }
        messages
    }

    #[test]
    fn rules_begin_at_the_last_turn_that_may_change() {
        let messages = ledger(&loops(9));
        assert_eq!(super::start(&messages, Provider::Anthropic, 17), 15, "its results may still be missing");
        assert_eq!(super::start(&messages, Provider::Anthropic, 19), 17);
        assert_eq!(super::start(&messages, Provider::Anthropic, 0), 0);
    }

    #[test]
    fn a_repeated_id_is_found_wherever_it_stood_first() {
        let mut messages = loops(9);
        messages.extend(loops(2).into_iter().skip(1));
        let options = Options { since: 19, in_flight: true, ..Options::default() };
        let found = validate(&ledger(&messages), Provider::Anthropic, options, None);
        assert_eq!(
            found.iter().map(|p| (p.index, p.code)).collect::<Vec<_>>(),
            [(19, "duplicate_tool_use_id"), (21, "duplicate_tool_use_id")]
        );
    }

    #[test]
    fn problems_of_new_messages_have_their_place_in_the_whole() {
        let mut messages = loops(5);
        messages
            .push(value!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "zz", "content": "x"}]}));
        let options = Options { since: 11, in_flight: true, ..Options::default() };
        let found = validate(&ledger(&messages), Provider::Anthropic, options, None);
        assert_eq!(
            found.iter().map(|p| (p.index, p.block, p.code)).collect::<Vec<_>>(),
            [(11, Some(0), "unexpected_tool_use_id")]
        );
    }
}
