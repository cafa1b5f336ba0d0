//! The fields of a record.

use std::borrow::Cow;

use super::names::{EMPTY, Name, Names};
use crate::error::Error;
use crate::json::Json;

/// The value under a name in a map, the last of several.
pub fn last<'t, 'a>(map: &Json<'t, 'a>, name: &[u8]) -> Option<Json<'t, 'a>> {
    if !map.is_object() {
        return None;
    }
    map.values().filter(|value| &*value.exact_name() == name).last()
}

/// The bytes of a string.
pub fn text<'a>(value: Option<Json<'_, 'a>>) -> Option<Cow<'a, [u8]>> {
    value.and_then(|value| value.exact())
}

/// A string as a name; empty of any other value.
pub fn name(value: Option<Json<'_, '_>>, names: &mut Names) -> Result<Name, Error> {
    text(value).map_or(Ok(EMPTY), |text| names.number(&text))
}
