//! How text of our own making is known again: summaries in their envelope, placeholders of pruned results.

/// How a summary in our envelope begins.
pub const ENVELOPE: &str = "<trimtab-summary ";

/// How it ends.
pub const CLOSE: &str = "\n</trimtab-summary>";

/// The start of a pruned result.
pub const PRUNED: &str = "[trimtab: pruned ";

/// The digest that an envelope carries: sixteen hexadecimal digits of its inside.
#[must_use]
pub fn digest(inside: &str) -> String {
    blake3::hash(inside.as_bytes()).to_hex().as_str()[..16].to_owned()
}

/// Whether `text` is a summary in an envelope whose digest fits: anybody may write one that does not.
///
/// # Examples
///
/// ```
/// use trimtab_core::envelope::{digest, is_summary};
///
/// let text = |digest: &str| format!("<trimtab-summary ref=\"0a\" digest=\"{digest}\" messages=\"3\">\nx\n</trimtab-summary>");
/// assert!(is_summary(&text(&digest("x"))));
/// assert!(!is_summary(&text("0123456789abcdef")));
/// ```
#[must_use]
pub fn is_summary(text: &str) -> bool {
    let Some((head, rest)) = text.strip_prefix(ENVELOPE).and_then(|text| text.split_once(">\n")) else { return false };
    let said = head.split_once("digest=\"").and_then(|(_, tail)| tail.split_once('"')).map(|(digest, _)| digest);
    rest.strip_suffix(CLOSE).is_some_and(|inside| said == Some(digest(inside).as_str()))
}

/// Placeholders of agentpg and opencode for a pruned result: their lists may come to us.
pub const PLACEHOLDERS: [&str; 2] = ["[TOOL OUTPUT PRUNED]", "[Old tool result content cleared]"];

/// Whether `text` is the placeholder of a pruned result, and nothing more.
#[must_use]
pub fn is_pruned(text: &str) -> bool {
    if PLACEHOLDERS.contains(&text) {
        return true;
    }
    let number = text.strip_prefix(PRUNED).and_then(|rest| rest.strip_suffix(" tokens]"));
    number.is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit() || b == b','))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_placeholder_is_one() {
        assert!(is_pruned("[trimtab: pruned 1,234 tokens]"));
        for text in ["[trimtab: pruned 12 tokens] and more", "[trimtab: pruned  tokens]", "[trimtab: pruned x tokens]"]
        {
            assert!(!is_pruned(text), "{text}");
        }
    }
}
