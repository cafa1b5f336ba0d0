//! The last call of each command or edit that showed no failure.

use std::collections::VecDeque;

use super::words::{Map, Set};

/// Most commands with the same words whose files are compared: sessions run few more between a failure and its fix.
const MOST_WIDE: usize = 40;

/// Knowledge of a later call of a command or edit that shows no failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Later {
    /// Its outcome is not stated.
    Unknown,
    /// Its result says that it succeeded.
    Ok,
}

/// The last call of each command or edit that showed no failure.
#[derive(Default)]
pub struct Endings {
    well: Map<String, (i64, Later)>,
    wide: Map<String, VecDeque<(Set<String>, i64, Later)>>,
}

impl Endings {
    /// Records a call that shows no failure; `is_ok` says whether its result says that it succeeded.
    pub fn well(&mut self, key: &str, at: i64, is_ok: bool) {
        if key.is_empty() {
            return; // nobody knows what was called
        }
        let later = if is_ok { Later::Ok } else { Later::Unknown };
        self.well.insert(key.to_owned(), (at, later));
        let (words, about) = taken_apart(key);
        if about.len() > 1 {
            let known = self.wide.entry(words).or_default();
            if known.len() == MOST_WIDE {
                known.pop_front();
            }
            known.push_back((about, at, later));
        }
    }

    /// Forgets what was recorded of a command or edit.
    pub fn ill(&mut self, key: &str) {
        self.well.remove(key);
    }

    /// Returns the knowledge of a target after a position, or of its command with these and more files.
    pub fn since(&self, key: &str, at: i64) -> Option<Later> {
        if let Some((_, later)) = self.well.get(key).filter(|(last, _)| *last > at) {
            return Some(*later);
        }
        let (words, about) = taken_apart(key);
        let known = self.wide.get(&words).filter(|_| !about.is_empty())?;
        let holds = |wide: &Set<String>| about.len() < wide.len() && about.is_subset(wide);
        known.iter().filter(|(wide, last, _)| *last > at && holds(wide)).map(|(_, _, later)| *later).max()
    }
}

/// The words of a command without its files, and its files.
fn taken_apart(key: &str) -> (String, Set<String>) {
    let is_file = |word: &&str| word.contains('/') || word.chars().skip(1).any(|c| c == '.');
    let about = key.split(' ').filter(is_file).map(str::to_owned).collect();
    (key.split(' ').filter(|word| !is_file(word)).collect::<Vec<_>>().join(" "), about)
}
