//! Where thinking stands, and what it is bound to.

use std::collections::HashMap;

use super::turns::{Turn, name, only_results, rows};
use super::{Findings, Options};
use crate::ledger::{Kind, Ledger, Role, RowFlag};

/// A11 to A14: where thinking stands.
pub fn check(found: &mut Findings<'_>, turns: &[Turn], options: Options) {
    let ledger = found.ledger;
    let thinks = |row: usize| ledger.kind[row] == Kind::Thinking;
    let some = ledger.kind.contains(&Kind::Thinking);
    for &turn in turns.iter().filter(|t| some && t.role == Role::Assistant) {
        let span = rows(ledger, turn).filter(|&row| ledger.kind[row] != Kind::Compaction);
        let start = span.clone().find(|&row| !is_unseen(ledger, row));
        if let Some(row) = span.clone().next_back().filter(|&row| thinks(row)) {
            let words = "messages: The final block in an assistant message cannot be `thinking`.";
            found.row(row, "thinking_last", words, "drop the thinking, or keep what came behind it");
        }
        if let Some(row) = span.clone().find(|&row| thinks(row)).filter(|&row| Some(row) != start) {
            let words = format!(
                "If an assistant message contains any thinking blocks, the first block must be `thinking` or `redacted_thinking`. Found `{}`.",
                name(ledger, start.unwrap_or(row))
            );
            found.row(row, "thinking_not_first", words, "put the thinking first");
        }
        for row in span.filter(|&row| thinks(row) && !ledger.has(row, RowFlag::Signed)) {
            let words = "thinking: signature: Field required";
            found.row(row, "thinking_signature_missing", words, "send thinking as it came, or leave it out");
        }
    }
    match options.thinking {
        Some(true) if !options.binds => expected(found, turns, options),
        Some(false) => disabled(found, turns),
        _ => {}
    }
}

/// Whether a block may stand in front of the thinking of its turn: a compaction that the provider wrote, and what it does
/// not show the model: where another model went on, and which tools a server has.
fn is_unseen(ledger: &Ledger, row: usize) -> bool {
    match ledger.kind[row] {
        Kind::Compaction => true,
        Kind::Opaque => matches!(ledger.names.get(row), "fallback" | "mcp_tool_listing"),
        _ => false,
    }
}

/// A12: the tool loop that is open at the end starts with thinking.
fn expected(found: &mut Findings<'_>, turns: &[Turn], options: Options) {
    let ledger = found.ledger;
    let last = turns.len() - 1;
    let runs = rows(ledger, turns[last]).any(|row| ledger.kind[row] == Kind::Call) && options.in_flight;
    let mut end = if turns[last].role == Role::Assistant && runs { last + 1 } else { last };
    if end == last && !only_results(ledger, turns[last]) {
        return;
    }
    // Back over the loop: an assistant turn, in front of it nothing but its results, in front of these the next.
    while end >= 3 && only_results(ledger, turns[end - 2]) {
        end -= 2;
    }
    let answer = |row: &usize| !is_unseen(ledger, *row);
    let Some(first) = end.checked_sub(1).and_then(|n| rows(ledger, turns[n]).find(answer)) else { return };
    if ledger.role[ledger.owner[first] as usize] == Role::Assistant && ledger.kind[first] != Kind::Thinking {
        let words = format!(
            "Expected `thinking` or `redacted_thinking`, but found `{}`. When `thinking` is enabled, a final `assistant` message must start with a thinking block (preceding the lastmost set of `tool_use` and `tool_result` blocks).",
            name(ledger, first)
        );
        let fix = "keep the thinking of the turn whose tools run, or switch thinking off";
        found.row(first, "thinking_expected", words, fix);
    }
}

/// A14: thinking off, and thinking in the final message.
fn disabled(found: &mut Findings<'_>, turns: &[Turn]) {
    let ledger = found.ledger;
    let last = turns[turns.len() - 1];
    if last.role == Role::Assistant {
        for row in rows(ledger, last).filter(|&row| ledger.kind[row] == Kind::Thinking) {
            let words =
                "When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`";
            found.row(row, "thinking_disabled_final", words, "drop the thinking");
        }
    }
}

/// A11, A15: thinking is as the model wrote it, and where it is bound, so is all that stood before it.
pub fn bound(found: &mut Findings<'_>, turns: &[Turn], original: &Ledger, options: Options) {
    let ledger = found.ledger;
    let (ours, theirs) = (thoughts(ledger), thoughts(original));
    let places: HashMap<[u8; 16], usize> =
        theirs.iter().enumerate().map(|(n, thought)| (original.content[thought.row], n)).collect();
    let latest = turns.iter().rfind(|t| t.role == Role::Assistant).map_or(0..0, |turn| rows(ledger, *turn));
    let mut before: Option<usize> = None; // the place in the original of the thinking before this one
    let mut whole = true; // whether only the beginning of the original's thinking is gone
    for thought in &ours {
        let place = places.get(&ledger.content[thought.row]).copied();
        let Some(place) = place else {
            if latest.contains(&thought.row) || options.binds {
                let words = "`thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response.";
                found.row(thought.row, "thinking_modified", words, "send thinking as it came, or leave it out");
            }
            continue;
        };
        whole &= before.is_none_or(|before| before + 1 == place);
        before = Some(place);
        if options.binds && (!whole || thought.prefix != theirs[place].prefix) {
            let words = "Invalid `signature` in `thinking` block: The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior`.";
            let fix = "strip thinking behind an edit, or send the request with the binding control";
            found.row(thought.row, "thinking_prefix_mismatch", words, fix);
        }
    }
}

/// A block of thinking: its row, and a digest of all that stood before it but thinking.
struct Thought {
    row: usize,
    prefix: [u8; 32],
}

fn thoughts(ledger: &Ledger) -> Vec<Thought> {
    let mut found = Vec::new();
    let mut prefix = blake3::Hasher::new();
    for row in 0..ledger.rows() {
        if ledger.kind[row] == Kind::Thinking {
            found.push(Thought { row, prefix: *prefix.finalize().as_bytes() });
            continue;
        }
        if ledger.has(row, RowFlag::Hides) {
            prefix = blake3::Hasher::new(); // the provider skips what stands in front of its compaction
        }
        prefix.update(&[ledger.role[ledger.owner[row] as usize] as u8, ledger.kind[row] as u8]);
        for text in [ledger.ids.get(row), ledger.names.get(row)] {
            prefix.update(&(text.len() as u64).to_le_bytes());
            prefix.update(text.as_bytes());
        }
        prefix.update(&ledger.content[row]);
    }
    found
}
