//! What the boundary of a compaction says of the lines that it kept.

use crate::error::Error;
use crate::json::Json;
use crate::session::names::{EMPTY, Name, Names};
use crate::session::value::{last, name};

/// The lines that a compaction kept, by keys.
#[derive(Debug)]
pub struct Kept {
    pub boundary: Name,
    /// The line that they follow: the summary, or the boundary where they stand in front of it.
    pub anchor: Name,
    pub lines: Which,
}

/// Which lines were kept.
#[derive(Debug)]
pub enum Which {
    List(Vec<Name>),
    /// The first and the last one.
    Ends(Name, Name),
}

impl Kept {
    /// What the metadata of a boundary name; `None` if they name no line. The list of newer versions counts before the ends.
    pub fn of(compacted: &Json<'_, '_>, boundary: Name, names: &mut Names) -> Result<Option<Self>, Error> {
        let field = |name: &[u8]| last(compacted, name).filter(Json::is_object);
        if let Some(list) = field(b"preservedMessages")
            && let Some(uuids) = last(&list, b"uuids").filter(Json::is_list)
        {
            let lines: Vec<Name> = uuids.values().map(|uuid| name(Some(uuid), names)).collect::<Result<_, _>>()?;
            let anchor = name(last(&list, b"anchorUuid"), names)?;
            return Ok((!lines.is_empty()).then_some(Self { boundary, anchor, lines: Which::List(lines) }));
        }
        let Some(segment) = field(b"preservedSegment") else { return Ok(None) };
        let mut ends = [EMPTY; 3];
        for (end, field) in ends.iter_mut().zip([b"headUuid".as_slice(), b"anchorUuid", b"tailUuid"]) {
            *end = name(last(&segment, field), names)?;
        }
        let [head, anchor, tail] = ends;
        Ok(Some(Self { boundary, anchor, lines: Which::Ends(head, tail) }))
    }
}
