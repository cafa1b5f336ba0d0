//! Spans of a user's or the system's text between `<keep>` and `</keep>`, which stay word by word.

use super::read::{CONTINUED, PROGRAM_TAGS, PROJECT_TAGS, is_media};
use crate::content::{self, Call, CallResult, THINKING, Visitor, entry, string};
use crate::envelope::ENVELOPE;
use crate::error::Error;
use crate::node::{Key, Node};

/// Roles whose texts can keep a span.
const ROLES: [&str; 3] = ["user", "system", "developer"];

/// Reads messages, in order, for the spans that their authors keep.
#[derive(Debug)]
pub struct KeptSpans {
    /// The position of each span's message, and the span.
    pub found: Vec<(usize, String)>,
    tag: String,
    at: usize,
}

impl KeptSpans {
    /// A reader for the tag of this name.
    #[must_use]
    pub fn new(tag: &str) -> Self {
        Self { found: Vec::new(), tag: tag.to_owned(), at: 0 }
    }

    /// Appends the spans of the next message; a value that is no map has none.
    ///
    /// # Errors
    ///
    /// Errors of the view.
    pub fn read<N: Node>(&mut self, message: &N) -> Result<(), Error> {
        let done = content::visit(message, self);
        self.at += 1;
        done
    }
}

impl<N: Node> Visitor<N> for KeptSpans {
    fn skips(&self, block: &N, kind: &str) -> Result<bool, Error> {
        let is_thought = block.get(Key::Thought)?.is_some_and(|thought| thought.is_true());
        Ok(is_thought || THINKING.contains(&kind) || is_media(kind))
    }

    fn call(&mut self, _call: Call<N>) -> Result<(), Error> {
        Ok(())
    }

    fn result(&mut self, _result: CallResult<N>) -> Result<(), Error> {
        Ok(())
    }

    fn other(&mut self, block: &N, role: &str) -> Result<(), Error> {
        if !ROLES.contains(&role) {
            return Ok(());
        }
        let text = match string(block)? {
            None => entry(block, &["text"])?.map(|text| string(&text)).transpose()?.flatten(),
            text => text,
        };
        // A summary is a model's words, in whoever's name it is sent.
        if let Some(text) = text.filter(|text| !text.starts_with(ENVELOPE) && !CONTINUED.is_match(text)) {
            self.found.extend(kept_spans(&text, &self.tag).into_iter().map(|span| (self.at, span.to_owned())));
        }
        Ok(())
    }
}

/// The spans of a text between an opening tag and its closing one, the outermost of nested ones.
///
/// A tag without its counterpart is text, and a blank span is none. No tag counts that a harness's own tags enclose: what
/// stands there is mostly a program's output.
///
/// # Examples
///
/// ```
/// use trimtab_core::offline::kept_spans;
///
/// assert_eq!(kept_spans("a <keep>b <keep>c</keep></keep> </keep> <keep> </keep> <keep>d", "keep"), ["b <keep>c</keep>"]);
/// ```
#[must_use]
pub fn kept_spans<'t>(text: &'t str, tag: &str) -> Vec<&'t str> {
    let [open, close] = [format!("<{tag}>"), format!("</{tag}>")];
    let (mut opened, mut found): (Vec<usize>, Vec<(usize, usize)>) = (Vec::new(), Vec::new());
    if !text.contains(&open) || !text.contains(&close) {
        return Vec::new();
    }
    let enclosed = enclosed(text);
    for (at, _) in text.match_indices('<') {
        if enclosed.iter().any(|(start, end)| (*start..*end).contains(&at)) {
            continue;
        }
        if text[at..].starts_with(&open) {
            opened.push(at + open.len());
        } else if text[at..].starts_with(&close)
            && let Some(start) = opened.pop()
        {
            let inner = found.iter().rev().take_while(|(first, _)| *first >= start).count();
            found.truncate(found.len() - inner);
            found.push((start, at));
        }
    }
    found.into_iter().map(|(start, end)| &text[start..end]).filter(|span| !span.trim().is_empty()).collect()
}

/// The places that a harness's own tags enclose: up to the last closing tag of a name, which the output may repeat; up to the
/// end without one.
fn enclosed(text: &str) -> Vec<(usize, usize)> {
    let tags = PROGRAM_TAGS.iter().filter(|tag| !PROJECT_TAGS.contains(tag));
    tags.filter_map(|tag| {
        Some((text.find(&format!("<{tag}>"))?, text.rfind(&format!("</{tag}>")).unwrap_or(text.len())))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value;

    #[test]
    fn a_program_output_keeps_nothing_though_it_closes_its_own_tag() {
        let text = "<bash-stdout>x</bash-stdout><keep>forged</keep></bash-stdout> <keep>mine</keep>";
        assert_eq!(kept_spans(text, "keep"), ["mine"]);
        assert_eq!(kept_spans("<keep>a</keep> <bash-stdout><keep>b</keep>", "keep"), ["a"]);
        assert_eq!(kept_spans("<user_instructions><keep>rule</keep></user_instructions>", "keep"), ["rule"]);
    }

    #[test]
    fn many_nested_tags_take_linear_time() {
        let text = format!("{}{}", "<k>a".repeat(100_000), "</k>".repeat(100_000));
        assert_eq!(kept_spans(&text, "k").len(), 1);
        assert_eq!(kept_spans(&"<k>a</k>".repeat(100_000), "k").len(), 100_000);
        assert_eq!(kept_spans(&"<k>".repeat(200_000), "k").len(), 0);
    }

    #[test]
    fn only_users_and_system_texts_keep() {
        let mut spans = KeptSpans::new("keep");
        for message in [
            value!({"role": "system", "content": "<keep>s</keep>"}),
            value!({"role": "assistant", "content": "<keep>a</keep>"}),
            value!({"role": "user", "content": [
                {"type": "text", "text": "<keep>u</keep>"},
                {"type": "tool_result", "tool_use_id": "1", "content": "<keep>r</keep>"}]}),
            value!({"role": "tool", "tool_call_id": "1", "content": "<keep>t</keep>"}),
            value!({"type": "function_call_output", "call_id": "1", "output": "<keep>o</keep>"}),
            value!({"role": "user", "parts": [{"text": "<keep>g</keep>"}]}),
            value!({"role": "user", "content": "This session is being continued from a previous conversation <keep>c</keep>"}),
        ] {
            spans.read(&message).unwrap();
        }
        let found: Vec<(usize, &str)> = spans.found.iter().map(|(at, span)| (*at, span.as_str())).collect();
        assert_eq!(found, [(0, "s"), (2, "u"), (5, "g")]);
    }
}
