//! What the calls of a prompt were billed.

use super::line::Line;
use super::time::Time;
use super::usage::Tokens;

/// The usage of a call: its numbers, or the usages of its lines as a JSON list where these have other fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Billed {
    /// The numbers.
    Tokens(Tokens),
    /// The usages, in order.
    Json(String),
}

/// A billed call.
#[derive(Clone, Debug, PartialEq)]
pub struct Charge {
    /// Number of messages in front of its answer.
    pub before: usize,
    /// Number of compactions in front of it.
    pub compactions: usize,
    /// Whether the messages in front of it were its prompt.
    pub is_prompt: bool,
    /// The model as the file names it; empty for none.
    pub model: Vec<u8>,
    /// Its time; `None` if that is no string.
    pub time: Option<Time>,
    /// The usage.
    pub billed: Billed,
}

/// What the lines of a response say of its usage: they repeat the input, and only the last may have the full output. `None`
/// if its prompt had no tokens.
pub fn billed(lines: &[Line], parts: &[usize], usages: &[Result<Tokens, String>]) -> Option<Billed> {
    let all = parts.iter().filter_map(|&part| usages.get(lines[part].usage? as usize));
    let Ok(known) = all.clone().cloned().collect::<Result<Vec<Tokens>, String>>() else {
        let written = |usage: &Result<Tokens, String>| usage.clone().map_or_else(|json| json, |tokens| tokens.json());
        return Some(Billed::Json(format!("[{}]", all.map(written).collect::<Vec<_>>().join(","))));
    };
    let mut most = Tokens::default();
    for tokens in &known {
        if tokens.prompt() > most.prompt() {
            most = *tokens;
        }
    }
    most.output = known.iter().map(|tokens| tokens.output).max().unwrap_or(0);
    (most.prompt() > 0).then_some(Billed::Tokens(most))
}
