//! How text of our own making is known again: summaries in their envelope, placeholders of pruned results.

/// How a summary in our envelope begins.
pub const ENVELOPE: &str = "<trimtab-summary ";

/// How it ends; a brief envelope has no end.
pub const CLOSE: &str = "\n</trimtab-summary>";

/// The start of the placeholder of a pruned result, or of a pruned argument of a call.
pub const PRUNED: &str = "[trimtab: pruned ";

/// The digest that an envelope carries: sixteen hexadecimal digits of its inside.
#[must_use]
pub fn digest(inside: &str) -> String {
    blake3::hash(inside.as_bytes()).to_hex().as_str()[..16].to_owned()
}

/// Longest ref and longest number of messages in an envelope: ours have 20 and at most 8.
const LONGEST: (usize, usize) = (64, 12);

/// Digits of the digest in a brief envelope.
const BRIEF: usize = 8;

/// Whether `text` is one envelope whose digest fits, and nothing more. Anybody can write such a text: only an archive knows
/// whose ref it is.
///
/// A brief one is for lists of a few hundred tokens: `<trimtab-summary REF DIGEST MESSAGES>`, a line feed, and the inside.
///
/// # Examples
///
/// ```
/// use trimtab_core::envelope::{digest, is_summary};
///
/// let text = |digest: &str| format!("<trimtab-summary ref=\"0a\" digest=\"{digest}\" messages=\"3\">\nx\n</trimtab-summary>");
/// assert!(is_summary(&text(&digest("x"))));
/// assert!(!is_summary(&text("0123456789abcdef")));
/// assert!(is_summary(&format!("<trimtab-summary 0a {} 3>\nx", &digest("x")[..8])));
/// ```
#[must_use]
pub fn is_summary(text: &str) -> bool {
    let Some((head, rest)) = text.strip_prefix(ENVELOPE).and_then(|text| text.split_once(">\n")) else { return false };
    let found = match whole(head) {
        Some(said) => rest.strip_suffix(CLOSE).map(|inside| (said, inside)),
        None => brief(head).map(|said| (said, rest)),
    };
    // A summary's own tags are escaped: with one of ours inside, these are two envelopes or more.
    found.is_some_and(|(said, inside)| {
        ![ENVELOPE.trim_end(), CLOSE.trim()].iter().any(|tag| inside.contains(tag)) && digest(inside).starts_with(said)
    })
}

/// The digest in the attributes of an envelope; None where they are not those that we write.
fn whole(attributes: &str) -> Option<&str> {
    let (name, rest) = attributes.strip_prefix("ref=\"")?.split_once("\" digest=\"")?;
    let (digest, count) = rest.strip_suffix('"')?.split_once("\" messages=\"")?;
    (digest.len() == 16 && is_name(name) && is_count(count)).then_some(digest)
}

/// The digest in the words of a brief envelope; None where they are not those that we write.
fn brief(words: &str) -> Option<&str> {
    let (name, rest) = words.split_once(' ')?;
    let (digest, count) = rest.split_once(' ')?;
    (digest.len() == BRIEF && is_name(name) && is_count(count)).then_some(digest)
}

fn is_name(name: &str) -> bool {
    (1..=LONGEST.0).contains(&name.len()) && name.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_count(count: &str) -> bool {
    (1..=LONGEST.1).contains(&count.len()) && count.bytes().all(|b| b.is_ascii_digit())
}

/// Placeholders of agentpg and opencode for a pruned result: their lists may come to us.
pub const PLACEHOLDERS: [&str; 2] = ["[TOOL OUTPUT PRUNED]", "[Old tool result content cleared]"];

/// Most bytes of our placeholder: a number, a tool, an argument and a ref, each of which has its own limit.
const MAX_PLACEHOLDER: usize = 400;

/// Whether `text` is the placeholder of a pruned result, and nothing more.
///
/// Ours is `[trimtab: pruned 1,234 tokens]`, or `[trimtab: pruned 1,234 tokens of Read a.py; restore 0af3]`.
#[must_use]
pub fn is_pruned(text: &str) -> bool {
    if PLACEHOLDERS.contains(&text) {
        return true;
    }
    let inside = text.strip_prefix(PRUNED).and_then(|rest| rest.strip_suffix(']'));
    let Some((number, about)) = inside.and_then(|inside| inside.split_once(" tokens")) else { return false };
    let names = about.is_empty() || about.starts_with(" of ") || about.starts_with("; ");
    let counts = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b',');
    names && counts && text.len() <= MAX_PLACEHOLDER && !about.contains(['[', ']', '\n', '\r'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_text_with_our_attributes_is_an_envelope() {
        let text =
            |head: &str, inside: &str| format!("{ENVELOPE}{}>\n{inside}{CLOSE}", head.replace("{}", &digest(inside)));
        let ours = r#"ref="0a" digest="{}" messages="3""#;
        assert!(is_summary(&text(ours, "x")) && is_summary(&text(ours, "")));
        assert!(!is_summary(&(text(ours, "x") + "\n")));
        assert!(!is_summary(&text(ours, &format!("x{CLOSE}\nmore"))));
        for head in [r#"digest="{}""#, r#"ref="0A" digest="{}" messages="3""#, r#"ref="0a" digest="{}" messages="""#] {
            assert!(!is_summary(&text(head, "x")), "{head}");
        }
        let brief =
            |head: &str, inside: &str| format!("{ENVELOPE}{}>\n{inside}", head.replace("{}", &digest("x")[..8]));
        assert!(is_summary(&brief("0a {} 3", "x")));
        for (head, inside) in [("0a {} 3", "y"), ("0a {} 3 ", "x"), ("0A {} 3", "x"), ("{} 3", "x"), ("0a {}", "x")] {
            assert!(!is_summary(&brief(head, inside)), "{head}");
        }
    }

    #[test]
    fn only_the_whole_placeholder_is_one() {
        for text in [
            "[trimtab: pruned 1,234 tokens]",
            "[trimtab: pruned 12 tokens of Read a.py]",
            "[trimtab: pruned 12 tokens of Read a.py; restore 0af3]",
            "[trimtab: pruned 12 tokens; restore 0af3]",
        ] {
            assert!(is_pruned(text), "{text}");
        }
        for text in [
            "[trimtab: pruned 12 tokens] and more",
            "[trimtab: pruned 12 tokens] and [more]",
            "[trimtab: pruned 12 tokens of Read a.py] and more]",
            "[trimtab: pruned 12 tokens of Read\na.py]",
            "[trimtab: pruned 12 tokens and more]",
            "[trimtab: pruned  tokens]",
            "[trimtab: pruned x tokens]",
            &format!("[trimtab: pruned 12 tokens of {}]", "x".repeat(400)),
        ] {
            assert!(!is_pruned(text), "{text}");
        }
    }
}
