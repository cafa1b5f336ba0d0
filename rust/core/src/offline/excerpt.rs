//! A tool's result cut to its lines of most worth, for a model that reads a transcript as data.

use trimtab_tokens::cancel::poll;

use super::faults::reports_failure;
use super::line::float;
use super::outcome::{EXIT, TESTS};
use super::pattern::{head, length};
use super::words::{Set, runs};
use crate::entries::{Entry, Kind};

/// Characters of a line that are kept: longer ones are encoded data, or minified.
const LINE: usize = 300;
/// Lines at each end of a result that say what it is and how it ended.
const ENDS: usize = 2;
/// Most names of a line that count.
const NAMES: usize = 3;

/// Cuts each result of more than `most` characters to its lines of most worth, in their order, with the number of lines
/// that were left out between them.
///
/// Worth most are lines that report a failure or an outcome, then those with the names that speakers or calls name, then
/// the first and the last ones; of equal ones the earlier, and a character in a short line counts more.
pub fn shorten(entries: &mut [Entry], most: usize) {
    let is_long = |entry: &Entry| matches!(entry.kind, Kind::Result | Kind::Failure) && entry.text.len() > most;
    if !entries.iter().any(is_long) {
        return;
    }
    let mut cut: Vec<(usize, String)> = Vec::new();
    {
        let named = named(entries);
        for (at, entry) in entries.iter().enumerate().filter(|(_, entry)| is_long(entry)) {
            poll();
            if length(&entry.text) > most {
                cut.push((at, shortened(&entry.text, most, &named)));
            }
        }
    }
    for (at, text) in cut {
        entries[at].text = text;
    }
}

/// The names in texts and in the arguments of calls: runs that are no words of prose.
fn named(entries: &[Entry]) -> Set<&str> {
    let spoken = entries.iter().filter(|entry| matches!(entry.kind, Kind::Text | Kind::Call));
    spoken.flat_map(|entry| runs(&entry.text)).map(bare).filter(|run| is_name(run)).collect()
}

fn bare(run: &str) -> &str {
    run.trim_matches(['.', ':', ',', '-', '/', '#', '@', '%', '+'])
}

fn is_name(run: &str) -> bool {
    run.len() >= 4 && !run.bytes().skip(1).all(|b| b.is_ascii_lowercase())
}

fn shortened(text: &str, most: usize, named: &Set<&str>) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let mut order: Vec<(f64, usize)> = Vec::with_capacity(lines.len());
    for (at, line) in lines.iter().enumerate() {
        poll();
        let line = head(line, LINE);
        let ends = at < ENDS || at + ENDS >= lines.len();
        order.push((worth(line, ends, named) / (20.0 + float(line.len())), at));
    }
    order.sort_by(|one, other| other.0.total_cmp(&one.0).then(one.1.cmp(&other.1)));
    let (mut left, mut kept) = (most, vec![false; lines.len()]);
    for (_, at) in order {
        let cost = length(head(lines[at], LINE)) + 1;
        if cost <= left {
            kept[at] = true;
            left -= cost;
        }
    }
    let (mut out, mut gap) = (String::with_capacity(most + 200), 0_usize);
    for (line, kept) in lines.iter().zip(kept) {
        if kept {
            note(gap, &mut out);
            gap = 0;
            out.push_str(head(line, LINE));
            out.push_str(if length(line) > LINE { "…\n" } else { "\n" });
        } else {
            gap += 1;
        }
    }
    note(gap, &mut out);
    out.truncate(out.trim_end().len());
    out
}

fn note(gap: usize, out: &mut String) {
    if gap > 0 {
        out.extend(["[", &gap.to_string(), if gap == 1 { " line" } else { " lines" }, " left out]\n"]);
    }
}

fn worth(line: &str, ends: bool, named: &Set<&str>) -> f64 {
    if line.trim().is_empty() {
        return 0.0;
    }
    let held = runs(line).map(bare).filter(|run| named.contains(run)).take(NAMES).count();
    let outcome = reports_failure(line) || TESTS.is_match(line) || EXIT.is_match(line);
    1.0 + if outcome { 8.0 } else { 0.0 } + 2.0 * float(held) + if ends { 4.0 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: Kind, text: &str) -> Entry {
        Entry { at: 0, kind, name: String::new(), text: text.to_owned() }
    }

    #[test]
    fn lines_of_most_worth_stay_wherever_they_stand() {
        let mut log: Vec<String> = (0..200).map(|n| format!("compiling part number {n} of it")).collect();
        log[80] = "error: cannot find parse_args in this scope".to_owned();
        log[120] = "note: see RetryPolicy for it".to_owned();
        let mut entries =
            [entry(Kind::Text, "mend RetryPolicy"), entry(Kind::Result, &log.join("\n")), entry(Kind::Result, "short")];
        shorten(&mut entries, 300);
        let text = &entries[1].text;
        assert!(text.starts_with("compiling part number 0 of it\n"), "{text}");
        assert!(text.ends_with("compiling part number 199 of it"), "{text}");
        assert!(text.contains(&log[80]) && text.contains(&log[120]), "{text}");
        assert!(text.contains("lines left out]"), "{text}");
        assert!(text.len() < 500, "{text}");
        assert_eq!(entries[2].text, "short");
    }

    #[test]
    fn one_line_without_an_end_is_cut() {
        let mut entries = [entry(Kind::Failure, &"x".repeat(10_000))];
        shorten(&mut entries, 400);
        assert_eq!(length(&entries[0].text), LINE + 1);
    }
}
