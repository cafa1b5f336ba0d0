//! What of a file no message holds.

use super::collected::Collected;
use super::entries::Entries;
use super::fields::Role;
use crate::seeded::Set;
use crate::session::names::EMPTY;
use crate::session::{Counts, LeftOut};
use trimtab_tokens::cancel;

/// What no message holds: fields with text, and lines that are not in the prompt.
///
/// # Errors
///
/// [`Error::Overflow`](crate::error::Error::Overflow) past the names that can be numbered.
pub fn left_out(all: &mut Entries, prompt: &Collected) -> Result<Vec<LeftOut>, crate::error::Error> {
    let [user, assistant, inner, compacted] = [b"user".as_slice(), b"assistant", b"message", b"compacted"];
    let [user, assistant] = [all.names.number(user)?, all.names.number(assistant)?];
    let [inner, compacted] = [all.names.number(inner)?, all.names.number(compacted)?];
    let named = |role| if role == Role::User { user } else { assistant };
    let added: Vec<usize> = prompt.parts.all().chain(prompt.results.all()).collect();
    let ids: Set<usize> = added.iter().copied().collect();
    let in_order = prompt.order.iter().copied().filter(|at| !ids.contains(at));
    let held: Vec<usize> = added.iter().copied().chain(in_order).collect();
    let mut counts = Counts::default();
    for role in [Role::User, Role::Assistant] {
        for (which, path) in [[named(role), EMPTY], [named(role), inner]].into_iter().enumerate() {
            for at in held.iter().filter(|&&at| all.lines[at].role == Some(role)) {
                let fields = all.worded.get(at).map_or(&[][..], |fields| &fields[which]);
                for &field in fields {
                    counts.add([path[0], path[1], field], 1);
                }
            }
        }
    }
    let looked_at = if all.whole { 1 } else { prompt.order.len() }; // a summary may have kept lines in front
    let first = prompt.order.iter().take(looked_at).map(|&at| &all.lines[at]).find(|line| line.is_summary);
    let start = first.map_or(0, |line| line.number);
    for (at, line) in all.lines.iter().enumerate().filter(|(at, _)| all.counts(*at)) {
        cancel::poll();
        let is_beside = !prompt.keys.contains(&line.key);
        match line.role {
            Some(role) if line.number < start && is_beside => counts.add([named(role), compacted, EMPTY], 1),
            Some(_) if !is_beside || ids.contains(&at) => {}
            _ => counts.add([line.kind[0], line.kind[1], EMPTY], 1),
        }
    }
    Ok(counts.named(&all.names))
}
