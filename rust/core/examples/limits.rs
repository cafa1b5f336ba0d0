//! The table of `make bench-limits`: a column a corpus, a JSON list of texts each.

use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use trimtab_core::text::Encoding;
use trimtab_core::text::limits::{Study, study};

#[allow(clippy::cast_precision_loss)]
fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let encoding = Encoding::named(&arguments.next().ok_or("no encoding")?)?;
    let (mut names, mut studies) = (Vec::new(), Vec::<Study>::new());
    for path in arguments {
        let texts: Vec<String> = serde_json::from_reader(BufReader::new(File::open(&path)?))?;
        studies.push(study(encoding, &texts));
        names.push(Path::new(&path).file_stem().unwrap_or_default().to_string_lossy().into_owned());
    }
    let row = |name: &str, cell: &dyn Fn(&Study) -> String| {
        println!("| {name} | {} |", studies.iter().map(cell).collect::<Vec<_>>().join(" | "));
    };
    println!("| {} | {} |\n|---{}|", encoding.name(), names.join(" | "), "|---:".repeat(names.len()));
    row("bytes a piece", &|study| format!("{:.2}", study.bytes as f64 / study.pieces as f64));
    row("met for the first time, % of pieces", &|study| {
        format!("{:.2}", 100.0 * study.missed as f64 / study.pieces as f64)
    });
    row("of them not in the vocabulary, %", &|study| {
        format!("{:.0}", 100.0 * study.merged as f64 / study.missed as f64)
    });
    for part in 0..studies.first().map_or(0, |study| study.costs.len()) {
        let name = studies[0].costs[part].0;
        row(&format!("{name}, ns"), &|study| format!("{:.2}", study.costs[part].1));
    }
    for part in ["all, cold", "all, warm"] {
        row(&format!("{part}, MB/s"), &|study| {
            let cost = study.costs.iter().find(|(name, _)| *name == part).map_or(f64::NAN, |(_, cost)| *cost);
            format!("{:.0}", 1e3 * study.bytes as f64 / study.pieces as f64 / cost)
        });
    }
    Ok(())
}
