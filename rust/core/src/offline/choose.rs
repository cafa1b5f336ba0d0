//! Selects the candidates that fit a limit, and renders them.

use super::line::{Section, float};
use super::open_work::LAST;
use super::pattern::length;
use super::words::{Map, Set, stretches};
use crate::error::Error;

/// The lists in their order; the root is first, because the paths of the others are relative to it.
const GROUPS: [&str; 10] =
    ["root", "created", "edited", "deleted", "read", "mentioned", "names", "ids", "urls", "versions"];
/// Rounds of selection; each corrects the budget by the tokens of the last text.
const ROUNDS: usize = 6;
/// Share of the limit from which a text counts as full.
const FULL: f64 = 0.97;
/// Candidates that are tried by themselves if no selection fits.
const MOST_ALONE: usize = 200;

/// A line or a word that the summary may contain.
pub struct Candidate {
    /// Its heading.
    pub section: Section,
    /// Its list; empty for a line.
    pub group: &'static str,
    /// The line, cleaned, or the word.
    pub text: String,
    /// Value of each of its tokens.
    pub rank: f64,
    /// Order among the lines of its section: message, number.
    pub at: (i64, i64),
    /// The indices of the names in a line; of a word, of the name that it is.
    pub names: Vec<usize>,
}

/// Counts the tokens of a text.
pub type Count<'c> = dyn FnMut(&str) -> Result<i64, Error> + 'c;

/// A candidate, its tokens, and a key that is equal for duplicates.
struct Priced {
    one: Candidate,
    cost: i64,
    key: String,
}

/// Share of the limit that a section has to fill for the rank of its other candidates to be halved.
fn share(section: Section) -> f64 {
    match section {
        Section::Earlier => 0.25,
        Section::Decisions => 0.2,
        Section::Files => 0.3,
        Section::Commands => 0.1,
        Section::Errors | Section::OpenItems => 0.12,
        Section::Requests | Section::Identifiers => 0.5,
    }
}

/// The text of the best candidates within a limit; empty if none fits.
///
/// # Errors
///
/// Errors of `count`.
pub fn fitted(candidates: Vec<Candidate>, limit: i64, count: &mut Count<'_>) -> Result<String, Error> {
    let ranked = priced(shared(candidates, limit), limit, count)?;
    let mut overhead = Map::default();
    for section in Section::ALL {
        overhead.insert(section.name(), count(&format!("## {}\n\n", section.name()))?);
    }
    for group in GROUPS {
        if ranked.iter().any(|one| one.one.group == group) {
            overhead.insert(group, count(&format!("- {group}:\n"))?);
        }
    }
    let (mut best, mut most, mut budget, mut mentioned) = (String::new(), 0, float(limit), Set::default());
    for _ in 0..ROUNDS {
        let chosen = chosen(&ranked, budget, &overhead, &mentioned);
        let text = render(&chosen.iter().copied());
        let total = count(&text)?;
        let fits = total <= limit;
        let whole = chosen.len() == ranked.len();
        if most < total && fits {
            best = text;
            most = total;
        }
        if fits && (FULL * float(limit) <= float(total) || whole) {
            break;
        }
        mentioned =
            chosen.iter().filter(|one| one.group.is_empty()).flat_map(|one| one.names.iter().copied()).collect();
        budget = if fits {
            budget + 0.9 * (float(limit) - float(total))
        } else {
            budget * 0.98 * float(limit) / float(total)
        };
    }
    if best.is_empty() { shaved(&ranked, limit, count) } else { Ok(best) }
}

/// The candidates, best first, with ranks that fall with the length of the better ones of the same section.
fn shared(mut candidates: Vec<Candidate>, limit: i64) -> Vec<Candidate> {
    let mut used = [0.0; Section::ALL.len()];
    sort(&mut candidates);
    for one in &mut candidates {
        let used = &mut used[one.section as usize];
        let part = *used / (share(one.section) * float(limit));
        *used += guess(one);
        one.rank /= 1.0 + part * part;
    }
    sort(&mut candidates);
    candidates
}

/// Sorts by rank, then newest first, then by the other fields, so that the order is deterministic.
fn sort(candidates: &mut [Candidate]) {
    let last = |one: &Candidate| (std::cmp::Reverse(one.at.0), one.at.1, one.section.name());
    candidates.sort_by(|one, other| {
        let ranks = other.rank.partial_cmp(&one.rank).unwrap_or(std::cmp::Ordering::Equal);
        ranks.then_with(|| last(one).cmp(&last(other))).then_with(|| one.text.cmp(&other.text))
    });
}

/// Estimated tokens of a candidate.
fn guess(one: &Candidate) -> f64 {
    1.0 + float(length(&one.text)) / 4.0
}

/// The best candidates with their tokens; about three times as many as fit.
fn priced(ranked: Vec<Candidate>, limit: i64, count: &mut Count<'_>) -> Result<Vec<Priced>, Error> {
    let (mut kept, mut guessed) = (Vec::new(), 0.0);
    for one in ranked {
        guessed += guess(&one);
        if guessed > 3.0 * float(limit) + 400.0 {
            break;
        }
        let is_line = one.group.is_empty();
        let cost = count(&if is_line { format!("- {}\n", one.text) } else { format!(" {}", one.text) })?;
        let small = || one.text.strip_prefix(LAST).unwrap_or(&one.text).to_lowercase();
        let key = if is_line { stretches(&small(), |_| false).collect::<Vec<_>>().join(" ") } else { one.text.clone() };
        kept.push(Priced { one, cost, key });
    }
    Ok(kept)
}

/// The candidates that fit a budget, best first; skips names that the lines of the last round mention.
fn chosen<'c>(
    ranked: &'c [Priced],
    budget: f64,
    overhead: &Map<&str, i64>,
    mentioned: &Set<usize>,
) -> Vec<&'c Candidate> {
    let (mut chosen, mut opened, mut seen, mut budget) = (Vec::new(), Set::default(), Set::default(), budget);
    for Priced { one, cost, key } in ranked {
        let is_mentioned = || one.names.iter().any(|name| mentioned.contains(name));
        if seen.contains(key) || (one.section == Section::Identifiers && is_mentioned()) {
            continue;
        }
        let extra =
            [one.section.name(), one.group].into_iter().filter(|name| !name.is_empty() && !opened.contains(name));
        let cost = float(*cost) + extra.clone().map(|name| float(overhead[name])).sum::<f64>();
        if cost <= budget {
            budget -= cost;
            let extra: Vec<&str> = extra.collect();
            opened.extend(extra);
            seen.insert(key);
            chosen.push(one);
        }
    }
    chosen
}

/// Renders the text: for each section a heading, its lines in order, its lists by rank.
fn render<'c>(chosen: &(impl Iterator<Item = &'c Candidate> + Clone)) -> String {
    let mut out = String::new();
    for section in Section::ALL {
        let inside = chosen.clone().filter(|one| one.section == section);
        let mut lines: Vec<&Candidate> = inside.clone().filter(|one| one.group.is_empty()).collect();
        lines.sort_by_key(|one| one.at);
        let mut body: Vec<String> = lines.iter().map(|one| format!("\n- {}", one.text)).collect();
        for group in GROUPS {
            let words: Vec<&str> =
                inside.clone().filter(|one| one.group == group).map(|one| one.text.as_str()).collect();
            if !words.is_empty() {
                body.push(format!("\n- {group}: {}", words.join(" ")));
            }
        }
        if !body.is_empty() {
            let between = if out.is_empty() { "" } else { "\n\n" };
            out.extend([between, "## ", section.name()]);
            out.extend(body);
        }
    }
    out
}

/// The fallback for a very small limit or an unusual counter: some candidates, or a few words.
fn shaved(ranked: &[Priced], limit: i64, count: &mut Count<'_>) -> Result<String, Error> {
    let (mut best, mut low, mut high) = (String::new(), 0, ranked.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        let text = render(&ranked[..middle].iter().map(|priced| &priced.one));
        if count(&text)? <= limit {
            (best, low) = (text, middle);
        } else {
            high = middle - 1;
        }
    }
    let Some(first) = ranked.first().filter(|_| best.is_empty()) else { return Ok(best) };
    for Priced { one, .. } in ranked.iter().take(MOST_ALONE) {
        let text = format!("- {}", one.text);
        if count(&text)? <= limit {
            return Ok(text);
        }
    }
    let mut words: Vec<&str> = first.one.text.split(' ').collect();
    while !words.is_empty() {
        let text = format!("- {}", words.join(" "));
        if count(&text)? <= limit {
            return Ok(text);
        }
        words.truncate(words.len() * 3 / 4);
    }
    Ok(String::new())
}
