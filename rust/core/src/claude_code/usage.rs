//! The usage of a response, in the form in which Claude Code writes it.

use crate::json::Json;
use crate::session::{MOST, Tokens};

/// A usage with these numbers, as JSON.
pub fn json(tokens: &Tokens) -> String {
    let Tokens { input, output, cache_read, cache_write, hourly } = tokens;
    format!(
        r#"{{"input_tokens":{input},"output_tokens":{output},"cache_read_input_tokens":{cache_read},"cache_creation_input_tokens":{cache_write},"cache_creation":{{"ephemeral_1h_input_tokens":{hourly}}}}}"#
    )
}

/// The numbers of a usage that has the fields of Claude Code alone; `None` of any other.
pub fn read(usage: &Json<'_, '_>) -> Option<Tokens> {
    let (mut found, mut read, mut write, mut hourly) = (Tokens::default(), None, None, 0);
    let mut input = None;
    for value in usage.values() {
        match &*value.exact_name() {
            b"input_tokens" => input = number(&value).ok()?,
            b"output_tokens" => found.output = number(&value).ok()?.unwrap_or(0),
            b"cache_read_input_tokens" => read = number(&value).ok()?,
            b"cache_creation_input_tokens" => write = number(&value).ok()?,
            b"cache_creation" => hourly = hourly_of(&value)?,
            b"service_tier" | b"server_tool_use" | b"inference_geo" | b"speed" => {}
            b"iterations" if value.is_null() || (value.is_list() && value.values().next().is_none()) => {}
            _ => return None,
        }
    }
    let Some(input) = input else { return Some(Tokens::default()) };
    found.input = input;
    if read.is_some() || write.is_some() {
        (found.cache_read, found.cache_write, found.hourly) = (read.unwrap_or(0), write.unwrap_or(0), hourly);
    }
    Some(found)
}

/// A value that is no number of tokens.
struct Unknown;

/// Of the fields of `cache_creation`, the tokens that are kept for an hour.
fn hourly_of(creation: &Json<'_, '_>) -> Option<u64> {
    if creation.is_null() {
        return Some(0);
    }
    if !creation.is_object() {
        return None;
    }
    let mut hourly = 0;
    for value in creation.values() {
        if &*value.exact_name() == b"ephemeral_1h_input_tokens" {
            hourly = number(&value).ok()?.unwrap_or(0);
        }
    }
    Some(hourly)
}

/// The number in a field, none of a null.
fn number(value: &Json<'_, '_>) -> Result<Option<u64>, Unknown> {
    if value.is_null() {
        return Ok(None);
    }
    value.integer().filter(|tokens| *tokens <= MOST).map(Some).ok_or(Unknown)
}
