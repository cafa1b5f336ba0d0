//! The usage of a response, in the form in which Codex writes it.

use crate::json::Json;
use crate::session::{Billed, MOST, Tokens};

/// The usage: its numbers where it has Codex's fields alone and their total adds up, else its JSON.
pub fn billed(usage: &Json<'_, '_>) -> Billed {
    read(usage).map_or_else(|| Billed::Json(format!("[{}]", usage.source())), Billed::Tokens)
}

fn read(usage: &Json<'_, '_>) -> Option<Tokens> {
    let (mut input, mut cached, mut output, mut total) = (None, None, None, None);
    for value in usage.values() {
        let field = match &*value.exact_name() {
            b"input_tokens" => &mut input,
            b"cached_input_tokens" => &mut cached,
            b"output_tokens" => &mut output,
            b"total_tokens" => &mut total,
            b"reasoning_output_tokens" => &mut None, // part of the output
            _ => return None,
        };
        *field = Some(value.integer().filter(|tokens| *tokens <= MOST)?);
    }
    let (input, cached, output) = (input?, cached?, output?);
    let is_sum = cached <= input && total? == input + output;
    is_sum.then(|| Tokens { input: input - cached, output, cache_read: cached, ..Tokens::default() })
}
