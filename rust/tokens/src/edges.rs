//! Where to cut a text whose tokens are known by their places.

/// Where the first `head` tokens of `text` end and the last `tail` begin, at whole characters; None where it has no more
/// tokens than that.
///
/// `tokens` are byte ranges in order; tokens that share a character have its whole range.
pub fn edges(tokens: &[(usize, usize)], text: &str, head: usize, tail: usize) -> Option<(usize, usize)> {
    if tokens.len() <= head.saturating_add(tail) {
        return None;
    }
    let (first, last) = (head.min(tokens.len()), tokens.len() - tail);
    let head = if first == 0 { 0 } else { tokens[first - 1].1.min(tokens[first].0) };
    let tail = if tail == 0 { text.len() } else { tokens[last].0.max(tokens[last - 1].1) };
    let head = (0..=head).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
    let tail = (tail.max(head)..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    Some((head, tail))
}
