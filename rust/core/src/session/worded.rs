//! Which fields of a line hold text.

use crate::json::Json;
use crate::node::Node;
use crate::text::{MOST_SEARCHED, is_worded};

/// The fields of a map, but for the `known` ones, that hold a string of three words or more at any depth; a field with more
/// than a thousand values is taken to hold one.
pub fn worded<'t, 'a>(map: &Json<'t, 'a>, known: &[&[u8]]) -> Vec<Json<'t, 'a>> {
    let is_found = |field: &Json<'t, 'a>| !known.contains(&&*field.exact_name()) && holds_text(*field);
    if !map.values().any(|field| is_found(&field)) {
        return Vec::new(); // of nearly every line, before equal names are looked for
    }
    map.members().into_iter().filter(is_found).collect()
}

fn holds_text(value: Json<'_, '_>) -> bool {
    if !value.is_object() && !value.is_list() {
        return value.look(is_worded).ok().flatten() == Some(true);
    }
    let mut pending = vec![value];
    for _ in 0..=MOST_SEARCHED {
        let Some(inner) = pending.pop() else { return false };
        if inner.look(is_worded).ok().flatten() == Some(true) {
            return true;
        }
        if inner.is_object() {
            pending.extend(inner.members());
        } else {
            pending.extend(inner.values());
        }
    }
    true
}
