//! What the calls of a prompt were billed.

use super::line::Line;
use super::usage;
use crate::session::{Billed, Tokens};

/// What the lines of a response say of its usage: they repeat the input, and only the last may have the full output. `None`
/// if its prompt had no tokens.
pub fn billed(lines: &[Line], parts: &[usize], usages: &[Result<Tokens, String>]) -> Option<Billed> {
    let all = parts.iter().filter_map(|&part| usages.get(lines[part].usage? as usize));
    let Ok(known) = all.clone().cloned().collect::<Result<Vec<Tokens>, String>>() else {
        let written =
            |read: &Result<Tokens, String>| read.clone().map_or_else(|json| json, |tokens| usage::json(&tokens));
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
