//! What a line may say of the window, cut down to the fields that are read.

use super::fields::{FLAGS, Fields, Message, TELLING};
use crate::json::Json;
use crate::node::quote;

/// How the output of a command that sets the model begins.
const MODEL_SET: &[u8] = b"<local-command-stdout>Set model to ";

/// JSON of an object with the fields of a line that may show the window; `None` of nearly every line.
pub fn noted(line: &Json<'_, '_>, fields: &Fields<'_, '_>, message: &Message<'_, '_>) -> Option<String> {
    let printed = message.content.filter(Json::is_truthy).or(fields.content);
    let may_be = |text: &Json<'_, '_>| text.source().starts_with("\"<") || text.source().starts_with("\"\\");
    let is_set = |text: &Json<'_, '_>| text.exact().is_some_and(|text| text.starts_with(MODEL_SET));
    let printed = printed.filter(|text| may_be(text) && is_set(text)); // a text is decoded where it may be one
    if printed.is_none() && !fields.is_telling && !message.is_telling {
        return None;
    }
    let mut inner = Vec::new();
    if let Some(given) = fields.message.filter(|_| message.is_telling) {
        inner.extend(chosen(&given, &FLAGS));
    }
    inner.extend(printed.map(|text| format!("\"content\":{}", text.source())));
    let mut all = chosen(line, &TELLING);
    all.push(format!("\"message\":{{{}}}", inner.join(",")));
    Some(format!("{{{}}}", all.join(",")))
}

/// The fields of a map that are in a list, as JSON; the last of equal names comes last.
fn chosen(map: &Json<'_, '_>, names: &[&[u8]]) -> Vec<String> {
    let found = map.values().filter(|value| names.contains(&&*value.exact_name()));
    let written = |value: Json<'_, '_>| {
        let mut field = String::new();
        quote(&String::from_utf8_lossy(&value.exact_name()), &mut field);
        field + ":" + value.source()
    };
    found.map(written).collect()
}
