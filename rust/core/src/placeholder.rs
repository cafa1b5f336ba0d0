//! The placeholder of a pruned result or argument: what was there, and how to get it back.

use crate::envelope::PRUNED;
use crate::text::{is_space, with_commas};

/// Characters of a tool's name, of an argument, and of an argument where the placeholder gets too long with that.
const NAME: usize = 48;
const ARGUMENT: usize = 40;
const SHORT: usize = 20;

/// What is removed.
pub struct Removed<'t> {
    /// Its tokens.
    pub tokens: u64,
    /// The tool; empty where it is not known.
    pub tool: &'t str,
    /// What the call was about; empty where nothing says it.
    pub about: &'t str,
    /// How to get the original back; empty where nothing is archived.
    pub back: &'t str,
}

impl Removed<'_> {
    /// The longest placeholder that has at most `limit` tokens by `count`; where none has, the one with the number alone.
    ///
    /// # Examples
    ///
    /// ```
    /// use trimtab_core::placeholder::Removed;
    ///
    /// let removed = Removed { tokens: 1_234, tool: "Read", about: "src/a.py", back: "restore 0af3" };
    /// let words = |text: &str| text.split(' ').count();
    /// assert_eq!(removed.placeholder(9, words), "[trimtab: pruned 1,234 tokens of Read src/a.py; restore 0af3]");
    /// assert_eq!(removed.placeholder(8, words), "[trimtab: pruned 1,234 tokens of Read; restore 0af3]");
    /// assert_eq!(removed.placeholder(1, words), "[trimtab: pruned 1,234 tokens]");
    /// ```
    pub fn placeholder(&self, limit: usize, count: impl Fn(&str) -> usize) -> String {
        let tokens = with_commas(self.tokens);
        let tool = in_one_line(self.tool, NAME);
        let with = |most: usize| format!("{tool} {}", in_one_line(self.about, most)).trim_matches(is_space).to_owned();
        let back = if self.back.is_empty() { String::new() } else { format!("; {}", self.back) };
        for name in [with(ARGUMENT), with(SHORT), tool.clone(), String::new()] {
            let of = if name.is_empty() { String::new() } else { format!(" of {name}") };
            let text = format!("{PRUNED}{tokens} tokens{of}{back}]");
            if count(&text) <= limit {
                return text;
            }
        }
        format!("{PRUNED}{tokens} tokens]")
    }
}

/// A text in one line of at most `most` characters: the end of a path, the beginning of anything else.
fn in_one_line(text: &str, most: usize) -> String {
    let is_gap = |c: char| is_space(c) || matches!(c, '[' | ']');
    let words: Vec<&str> = text.split(is_gap).filter(|word| !word.is_empty()).collect();
    let line = words.join(" ");
    let length = line.chars().count();
    if length <= most {
        return line;
    }
    if !line.contains(' ') && line.contains('/') {
        let end = line.char_indices().nth(length - most).map_or(0, |(at, _)| at);
        return format!("...{}", &line[end..]);
    }
    let start = line.char_indices().nth(most).map_or(line.len(), |(at, _)| at);
    format!("{}...", &line[..start])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_one_line_of_its_beginning_and_a_path_its_end() {
        assert_eq!(in_one_line(" a\n[b]\t\u{1f}c ", 9), "a b c");
        assert_eq!(in_one_line("make test and all", 9), "make test...");
        assert_eq!(in_one_line("src/häuser/a.py", 6), "...r/a.py");
        assert_eq!(in_one_line("", 3), "");
    }
}
