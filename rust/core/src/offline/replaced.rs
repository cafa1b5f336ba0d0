//! What the user's statements say of one another: words that come back, values and decisions that are replaced.
//!
//! A heuristic on words. A statement is replaced where a later one of another message shares most of its words and differs
//! in the values of one kind, or takes back what it chose.

use std::collections::{BTreeSet, VecDeque};
use std::rc::Rc;

use trimtab_tokens::cancel::poll_now;

use super::line::{Line, float};
use super::pattern::length;
use super::words::{Map, Set};
use super::worth::{Said, Sort, shared_worth};

/// Prefix of a decision that was taken back, where the new one does not name what it is about.
pub const WAS: &str = "was: ";
/// Most statements with a word that are compared, the last ones.
const RECENT: usize = 8;
/// Number of last statements that are compared.
const MOST: usize = 5_000;
/// Statements back to the one that a correction without a word of it takes back.
const FAR: usize = 40;
/// Trust in a statement of which a later one says most: both may hold, and of few the later one stands.
const LIKE: f64 = 0.5;
/// Most characters of a statement that takes back, and that is taken back.
const SHORT: usize = 240;

/// Raises the user's lines whose words come back, and lowers those that later ones replace; `later` are not kept.
pub fn relate(lines: &mut [Line], later: &mut [Line]) {
    let shown: Set<String> =
        later.iter().filter(|line| line.section.is_users()).map(|line| line.text.clone()).collect();
    let mut users: Vec<&mut Line> =
        lines.iter_mut().chain(later.iter_mut()).filter(|line| line.section.is_users()).collect();
    users.sort_by_key(|line| (line.at, line.number));
    users.drain(..users.len().saturating_sub(MOST));
    for line in &mut users {
        if shown.contains(&line.text) {
            line.trust = 0.0;
        }
    }
    let told: Vec<Rc<Said>> =
        users.iter().map(|line| line.does.clone().unwrap_or_else(|| Rc::new(Said::of(&line.text)))).collect();
    let mut known = Map::<u64, usize>::default();
    let held: Vec<Vec<usize>> = told
        .iter()
        .map(|one| {
            let number = |word| {
                let next = known.len();
                *known.entry(word).or_insert(next)
            };
            one.words().into_iter().map(number).collect()
        })
        .collect();
    let (mut times, mut told_once) = (vec![0; known.len()], Set::<&str>::default());
    for (line, words) in users.iter().zip(&held) {
        if told_once.insert(&line.text) {
            for word in words {
                times[*word] += 1;
            }
        }
    }
    let rare = 2..=(users.len() / 8).max(3);
    for (line, words) in users.iter_mut().zip(&held) {
        line.rank += shared_worth(words.iter().filter(|word| rare.contains(&times[**word])).count());
    }
    replace(&mut users, &told, &held, known.len());
}

fn replace(users: &mut [&mut Line], told: &[Rc<Said>], held: &[Vec<usize>], words: usize) {
    let mut index = vec![VecDeque::<usize>::new(); words];
    for place in 0..users.len() {
        poll_now();
        let shared: BTreeSet<usize> = held[place].iter().flat_map(|word| &index[*word]).copied().collect();
        let one = &told[place];
        let takes_back = one.back && length(&users[place].text) <= SHORT;
        let mut taken = false;
        for at in shared {
            let (old, new) = (&users[at], &users[place]);
            // What an earlier summary has held when that was made.
            if old.at == new.at || new.at < 0 || old.trust < 0.5 || old.text == new.text {
                continue;
            }
            if is_same_but_a_value(&told[at], one) {
                users[at].trust = if is_of_another(&told[at], one) { LIKE } else { 0.0 };
            } else if is_like(&told[at], one) {
                users[at].trust = users[at].trust.min(LIKE);
            } else if takes_back && length(&old.text) <= SHORT && is_taken_back(&told[at], one, place - at <= FAR) {
                users[at].trust = 0.0;
                taken = true;
            }
        }
        if takes_back && !taken && !one.question && (one.choice || one.plainly_back) {
            mark(&mut users[..=place], told);
        }
        for word in &held[place] {
            let known = &mut index[*word];
            if known.len() == RECENT {
                known.pop_front();
            }
            known.push_back(place);
        }
    }
}

/// Whether a correction speaks of an older statement: of most of it, or of a choice shortly before.
fn is_taken_back(old: &Said, new: &Said, near: bool) -> bool {
    let (words, again) = (old.words(), new.words());
    let shared = words.iter().filter(|word| again.binary_search(word).is_ok()).count();
    !old.question && shared > 0 && ((old.choice && near) || (shared > 1 && 2 * shared >= words.len()))
}

/// Marks the last choice before the last line, a correction that shares no word with it.
fn mark(lines: &mut [&mut Line], told: &[Rc<Said>]) {
    let Some((now, before)) = lines.split_last_mut() else { return };
    let first = before.len().saturating_sub(FAR);
    for (old, one) in before[first..].iter_mut().zip(&told[first..]).rev() {
        if one.choice && !one.question && old.at != now.at && old.trust >= 0.5 && length(&old.text) <= SHORT {
            if !old.text.starts_with(WAS) {
                old.text.insert_str(0, WAS);
            }
            old.trust = 0.5;
            return;
        }
    }
}

/// Whether two statements have the same words but for one in each: they may speak of two things.
fn is_of_another(old: &Said, new: &Said) -> bool {
    let lacks =
        |one: &Said, other: &Said| one.stems.iter().filter(|word| other.stems.binary_search(word).is_err()).count();
    lacks(old, new) == 1 && lacks(new, old) == 1 && old.stems.len() > 3
}

/// Whether two statements have the same values and most of their words.
fn is_like(old: &Said, new: &Said) -> bool {
    let other = !old.label.is_empty() && !new.label.is_empty() && old.label != new.label;
    if other || old.question || new.question || old.values != new.values {
        return false;
    }
    let shared = old.stems.iter().filter(|word| new.stems.binary_search(word).is_ok()).count();
    shared >= 3 && float(shared) >= 0.7 * float(old.stems.len().max(new.stems.len()))
}

/// Whether two statements share most of their words, and differ in the values of one kind alone.
fn is_same_but_a_value(old: &Said, new: &Said) -> bool {
    let is_labelled = !old.label.is_empty() && !new.label.is_empty();
    if (is_labelled && old.label != new.label) || old.question || new.question {
        return false;
    }
    let mut differs = None;
    for sort in [Sort::Money, Sort::Date, Sort::Number, Sort::Code, Sort::Name] {
        let [before, after] = [old, new].map(|one| one.valued(sort).collect::<Set<_>>());
        if before == after || (sort == Sort::Name && (before.is_subset(&after) || after.is_subset(&before))) {
            continue;
        }
        if differs.is_some() || before.is_empty() || after.is_empty() {
            return false;
        }
        differs = Some(sort);
    }
    let Some(sort) = differs else { return false };
    let again = new.words();
    let shared = old.words().iter().filter(|word| again.binary_search(word).is_ok()).count();
    let (least, most) = (old.stems.len().min(new.stems.len()), old.stems.len().max(new.stems.len()));
    if shared < 2 {
        return false;
    }
    let (shared, least, most) = (float(shared), float(least), float(most));
    if sort == Sort::Name {
        return if is_labelled { shared >= 0.5 * most } else { shared >= 3.0 && shared >= 0.8 * most };
    }
    shared >= if is_labelled { 0.5 } else { 0.7 } * least && shared >= 0.35 * most
}
