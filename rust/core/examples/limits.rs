//! The tables of `make bench-limits`: a column a corpus, a JSON list of texts each.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use trimtab_core::text::Encoding;
use trimtab_core::text::limits::{Study, line_behind_line, study};

/// Bytes of a corpus that are enough.
const ENOUGH: usize = 8 << 20;

/// What a cold pass does beyond a warm one; the others are parts of these, or of a warm pass.
const FIRST: [&str; 4] = [
    "fresh tables, a write a page",
    "looking up in the vocabulary, those met for the first time",
    "merging ASCII that no vocabulary has",
    "taking apart and merging what is beyond ASCII or long",
];

#[allow(clippy::cast_precision_loss)]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let encoding = Encoding::named(&arguments.next().ok_or("no encoding")?)?;
    let (mut names, mut studies) = (Vec::new(), Vec::<Study>::new());
    for path in arguments {
        let texts: Vec<String> = serde_json::from_reader(BufReader::new(File::open(&path)?))?;
        let mut left = ENOUGH;
        let some: Vec<String> = texts.into_iter().take_while(|text| take(&mut left, text.len())).collect();
        studies.push(study(encoding, &some));
        names.push(Path::new(&path).file_stem().unwrap_or_default().to_string_lossy().into_owned());
    }
    let row = |name: &str, cell: &dyn Fn(&Study) -> String| {
        println!("| {name} | {} |", studies.iter().map(cell).collect::<Vec<_>>().join(" | "));
    };
    let head = |what: &str| {
        println!("\n| {}: {what} | {} |\n|---{}|", encoding.name(), names.join(" | "), "|---:".repeat(names.len()));
    };
    let share = |of: usize, all: usize| format!("{:.2}", 100.0 * of as f64 / all as f64);
    let each = |study: &Study, seconds: f64| format!("{:.2}", seconds * 1e9 / study.pieces as f64);
    head("ns a piece");
    row("bytes a piece", &|study| format!("{:.2}", study.bytes as f64 / study.pieces as f64));
    row("met for the first time, % of pieces", &|study| share(study.first, study.pieces));
    row("of more than 15 bytes, % of those", &|study| share(study.long, study.first));
    row("shorter, not in the vocabulary, % of those", &|study| share(study.nowhere, study.first));
    row("all, cold", &|study| each(study, study.designs[0].1[0]));
    row("all, warm", &|study| each(study, study.designs[0].1[1]));
    for part in 0..studies.first().map_or(0, |study| study.parts.len()) {
        row(studies[0].parts[part].0, &|study| each(study, study.parts[part].1));
    }
    row("warm and what is done the first time, added up", &|study| {
        let first = study.parts.iter().filter(|(name, _)| FIRST.contains(name)).map(|(_, seconds)| seconds);
        each(study, study.designs[0].1[1] + first.sum::<f64>())
    });
    head("MB/s cold, warm");
    for design in 0..studies.first().map_or(0, |study| study.designs.len()) {
        row(studies[0].designs[design].0, &|study| {
            let rates = study.designs[design].1.map(|seconds| format!("{:.0}", study.bytes as f64 / 1e6 / seconds));
            rates.join(", ")
        });
    }
    row("the most that a second thread could gain, times", &|study| {
        let [all, one, other] = study.shared;
        let gain = [0, 1].map(|pass| format!("{:.2}", all[pass] / one[pass].max(other[pass])));
        gain.join(", ")
    });
    let [near, far] = [line_behind_line::<{ 1 << 16 }>(), line_behind_line::<{ 1 << 20 }>()];
    println!("\nA line behind another: {near:.0} ns in a table of 4 MB, {far:.0} ns in one of 64 MB.");
    Ok(())
}

/// Whether so many bytes are left, which are taken.
fn take(left: &mut usize, bytes: usize) -> bool {
    let enough = *left > 0;
    *left = left.saturating_sub(bytes);
    enough
}
