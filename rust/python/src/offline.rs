//! The summary without a model.

use pyo3::prelude::*;
use pyo3::types::PyString;
use trimtab_core::error::Error;
use trimtab_core::offline::{Arguments, Kind, Part, Zone, summary};

use crate::convert::{released, to_py};
use crate::text::Text;
use crate::view::{View, raised};

/// A summary of at most `limit` tokens by `count`: the one function here that calls Python. `texts` are the summary before
/// and the instructions; `parts` are `Part` objects of the `size` messages that leave and of those behind them.
#[pyfunction]
pub fn offline(
    parts: [Vec<Bound<'_, PyAny>>; 2],
    size: i64,
    texts: [Bound<'_, PyString>; 2],
    limit: i64,
    count: Py<PyAny>,
) -> PyResult<String> {
    let [zone, after] = parts.map(|parts| parts.iter().map(part).collect::<PyResult<Vec<_>>>());
    let (zone, after, [previous, instructions]) = (zone?, after?, texts.each_ref().map(text));
    let zone = Zone { parts: zone, size, after, previous: previous?, instructions: instructions? };
    let mut failed: Option<PyErr> = None;
    let work = || {
        let counted = |text: &str| Python::attach(|py| count.bind(py).call1((text,))?.extract());
        let mut count = |text: &str| counted(text).map_err(|error| Error::Argument(failed.insert(error).to_string()));
        summary(zone, limit, &mut count)
    };
    let text = released(texts[0].py(), work);
    text.map_err(|error| failed.unwrap_or(error))
}

fn part(part: &Bound<'_, PyAny>) -> PyResult<Part> {
    let word = |name| text(part.getattr(name)?.cast()?);
    let arguments = Arguments::read(&View::of(part.getattr("args")?));
    let arguments = arguments.map_err(|error| raised().unwrap_or_else(|| to_py(error)))?;
    let (at, failed) = (part.getattr("at")?.extract()?, part.getattr("failed")?.extract()?);
    let (kind, text, name, id) = (Kind::named(&word("kind")?), word("text")?, word("name")?, word("id")?);
    Ok(Part { at, kind, text, name, id, arguments, failed, ..Part::default() })
}

/// The text of a string; a lone surrogate becomes a character that a clean line leaves out, too.
fn text(string: &Bound<'_, PyString>) -> PyResult<String> {
    Ok(Text::with(string, '\u{fffb}')?.as_ref().to_owned())
}
