//! Selects the candidates that fit a limit, and renders them.

use super::covered::uncovered;
use super::earlier::{DEEP, INSIDE};
use super::language::Language;
use super::line::{Candidate, Section, float};
use super::open_work::LAST;
use super::pattern::{length, pattern};
use super::words::{Map, Set, stretches};
use crate::error::Error;

pattern!(
    /// A label in front of a line: of one to three words.
    LABELLED = r"^([A-Z][^\W\d_]*(?: [^\W\d_]+){0,2}:) \S",
);

/// The list of the folder that the other paths are relative to; it stands in front of any other file, and never alone.
pub const ROOT: &str = "root";
/// The lists in their order.
const GROUPS: [&str; 10] =
    [ROOT, "created", "edited", "deleted", "read", "mentioned", "names", "ids", "urls", "versions"];
/// Most tokens of a summary whose first lines, the user's, have no heading: one is a tenth of its words.
const BRIEF: i64 = 250;
/// The lists of names of which nothing is said.
const BARE: [&str; 5] = ["mentioned", "names", "ids", "urls", "versions"];
/// Most of a summary that they are.
const MOST_BARE: f64 = 0.08;
/// Tokens that they may have anyway, where the lines leave them.
const FEW_BARE: f64 = 40.0;
/// Budget from which they have room before the last of the lines.
const ROOMY: f64 = 600.0;
/// Rounds of selection; each corrects the budget by the tokens of the last text.
const ROUNDS: usize = 6;
/// Tokens that a section has to fill, however small the limit, for the rank of its other candidates to be halved.
const LEAST_SHARE: f64 = 40.0;
/// Share of the limit from which a text counts as full.
const FULL: f64 = 0.97;
/// Candidates that are tried by themselves if no selection fits.
const MOST_ALONE: usize = 200;

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
        Section::Rules | Section::Requests => f64::INFINITY, // the user's words

        Section::Earlier => 0.25,
        Section::Decisions => 0.2,
        Section::Files | Section::Project => 0.3,
        Section::Commands => 0.1,
        Section::Errors | Section::OpenItems => 0.12,
        Section::Identifiers => 0.5,
    }
}

/// The text of the best candidates within a limit; empty if none fits.
///
/// # Errors
///
/// Errors of `count`.
pub fn fitted(
    candidates: Vec<Candidate>,
    limit: i64,
    count: &mut Count<'_>,
    language: Language,
) -> Result<String, Error> {
    let mut ranked = priced(shared(candidates, limit), limit, count)?;
    let root = ranked.iter().position(|one| one.one.group == ROOT).map(|at| ranked.remove(at));
    let mut overhead = Map::default();
    let is_brief = limit <= BRIEF;
    for section in Section::ALL {
        overhead.insert(section.name(), count(&heading(section, language, is_brief))?);
    }
    if let Some(root) = &root {
        *overhead.entry(Section::Files.name()).or_default() += root.cost + count(&format!("- {ROOT}:\n"))?;
    }
    for group in GROUPS {
        if ranked.iter().any(|one| one.one.group == group) {
            overhead.insert(group, count(&format!("- {group}:\n"))?);
        }
    }
    let (mut best, mut most, mut budget, mut mentioned) = (String::new(), 0, float(limit), Set::default());
    for _ in 0..ROUNDS {
        let picked = chosen(&ranked, budget, &overhead, &mentioned);
        let whole = picked.len() == ranked.len();
        let mut chosen = uncovered(&picked);
        let names_files = chosen.iter().any(|one| one.section == Section::Files);
        chosen.extend(root.as_ref().map(|root| &root.one).filter(|_| names_files));
        let text = render(&chosen.iter().copied(), language, is_brief);
        let total = count(&text)?;
        let fits = total <= limit;
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
    if best.is_empty() { shaved(&ranked, limit, count, language) } else { Ok(best) }
}

/// The candidates, best first, with ranks that fall with the length of the better ones of the same section.
fn shared(mut candidates: Vec<Candidate>, limit: i64) -> Vec<Candidate> {
    let mut used = [0.0; Section::ALL.len()];
    sort(&mut candidates);
    for one in &mut candidates {
        let used = &mut used[one.section as usize];
        let part = *used / (share(one.section) * float(limit)).max(LEAST_SHARE);
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
) -> Vec<(&'c Candidate, &'c str)> {
    let mut chosen =
        Chosen { found: Vec::new(), opened: Set::default(), seen: Set::default(), whole: Set::default(), used: 0.0 };
    let lines = if budget >= ROOMY { budget * (1.0 - MOST_BARE) } else { budget };
    chosen.add(ranked, false, (budget, lines), overhead, mentioned);
    let names = (chosen.used / (1.0 - MOST_BARE)).max(chosen.used + FEW_BARE);
    chosen.add(ranked, true, (budget, names), overhead, mentioned);
    chosen.add(ranked, false, (budget, budget), overhead, mentioned);
    chosen.found
}

/// What was chosen so far.
struct Chosen<'c> {
    /// The candidates, with their keys.
    found: Vec<(&'c Candidate, &'c str)>,
    /// The headings and lists that it has.
    opened: Set<&'c str>,
    /// The keys of its lines and names.
    seen: Set<&'c str>,
    /// The places of its whole paragraphs.
    whole: Set<(i64, i64)>,
    used: f64,
}

impl<'c> Chosen<'c> {
    /// Adds the candidates that fit both rooms: names of which nothing is said, or all others.
    fn add(
        &mut self,
        ranked: &'c [Priced],
        bare: bool,
        rooms: (f64, f64),
        overhead: &Map<&str, i64>,
        mentioned: &Set<usize>,
    ) {
        for Priced { one, cost, key } in ranked {
            if BARE.contains(&one.group) != bare || (one.is_part && self.whole.contains(&one.at)) {
                continue;
            }
            let is_mentioned = || one.names.iter().any(|name| mentioned.contains(name));
            if self.seen.contains(key.as_str()) || (one.section == Section::Identifiers && is_mentioned()) {
                continue;
            }
            let names = [one.section.name(), one.group].into_iter();
            let extra: Vec<&str> = names.filter(|name| !name.is_empty() && !self.opened.contains(name)).collect();
            let cost = float(*cost) + extra.iter().map(|name| float(overhead[name])).sum::<f64>();
            if self.used + cost <= rooms.0 && self.used + cost <= rooms.1 {
                self.used += cost;
                self.opened.extend(extra);
                self.seen.insert(key);
                if one.section.is_users() && !one.is_part {
                    self.whole.insert(one.at);
                }
                self.found.push((one, key));
            }
        }
    }
}

/// The heading of a section; a brief summary begins with the user's words, without one.
fn heading(section: Section, language: Language, is_brief: bool) -> String {
    if is_brief && section.is_users() { String::new() } else { format!("## {}\n\n", language.title(section as usize)) }
}

/// Renders the text: for each section a heading, its lines in order, its lists by rank.
fn render<'c>(chosen: &(impl Iterator<Item = &'c Candidate> + Clone), language: Language, is_brief: bool) -> String {
    let mut out = String::new();
    for section in Section::ALL {
        let both = is_brief && section == Section::Requests;
        if is_brief && section == Section::Rules {
            continue; // they are in front of the requests, without a heading between
        }
        let inside = chosen.clone().filter(|one| one.section == section || (both && one.section == Section::Rules));
        let mut lines: Vec<&Candidate> = inside.clone().filter(|one| one.group.is_empty()).collect();
        lines.sort_by_key(|one| (one.section != Section::Rules, one.at));
        let mut body = listed(&lines);
        for group in GROUPS {
            let words: Vec<&str> =
                inside.clone().filter(|one| one.group == group).map(|one| one.text.as_str()).collect();
            if !words.is_empty() {
                body.push(format!("- {group}: {}", words.join(" ")));
            }
        }
        if !body.is_empty() {
            let title = heading(section, language, is_brief);
            let between = match (out.is_empty(), title.is_empty()) {
                (true, _) => "",
                (false, true) => "\n",
                (false, false) => "\n\n",
            };
            out.extend([between, title.strip_suffix('\n').unwrap_or_default(), &body.join("\n")]);
        }
    }
    out
}

/// The lines as a list.
///
/// Those with the same label stand below it, and the later paragraphs of a message below the first that is there.
fn listed(lines: &[&Candidate]) -> Vec<String> {
    let labels: Vec<Option<String>> = lines.iter().map(|one| label_of(one)).collect();
    let mut below: Map<&str, Vec<&str>> = Map::default();
    for (one, label) in lines.iter().zip(&labels) {
        if let Some(label) = label {
            below.entry(label).or_default().push(&one.text[label.len() + 1..]);
        }
    }
    let first: Set<i64> = lines.iter().filter(|one| is_first(one)).map(|one| one.at.0).collect();
    let (mut out, mut inside_of) = (Vec::new(), None);
    for (one, label) in lines.iter().zip(&labels) {
        let deep = if one.section == Section::Rules { DEEP } else { 1 };
        let is_below = first.contains(&one.at.0) || inside_of == Some(one.at.0);
        if one.section == Section::Requests && one.at.1 > 0 && is_below {
            out.push(format!("  - {}", one.text));
        } else if one.section.is_users() && usize::try_from(one.at.1).is_ok_and(|number| number >= deep) {
            inside_of = (one.section == Section::Requests).then_some(one.at.0);
            out.push(format!("- {INSIDE}{}", one.text));
        } else if let Some(label) = label.as_deref().filter(|label| below.get(label).is_none_or(|all| all.len() > 1)) {
            if let Some(inside) = below.remove(label) {
                out.push(format!("- {label}"));
                out.extend(inside.iter().map(|text| format!("  - {text}")));
            }
        } else {
            out.push(format!("- {}", one.text));
        }
    }
    out
}

/// Whether paragraphs of its message may stand below a line: not below a label, with words behind it or alone.
fn is_first(one: &Candidate) -> bool {
    let with_words = format!("{} .", one.text);
    one.section == Section::Requests && one.at.1 == 0 && !LABELLED.is_match(&with_words)
}

/// The label of a user's message.
fn label_of(one: &Candidate) -> Option<String> {
    let is_told = one.section.is_users() && one.at.1 == 0;
    LABELLED.groups(&one.text).filter(|_| is_told).map(|found| found.text(1).to_owned())
}

/// The fallback for a very small limit or an unusual counter: some candidates, or a few words.
fn shaved(ranked: &[Priced], limit: i64, count: &mut Count<'_>, language: Language) -> Result<String, Error> {
    let (mut best, mut low, mut high) = (String::new(), 0, ranked.len());
    while low < high {
        let middle = (low + high).div_ceil(2);
        let text = render(&ranked[..middle].iter().map(|priced| &priced.one), language, true);
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
