//! Tokens of messages that are known as a whole, such as those of a rendered prompt, laid on their rows.

use super::{Kind, Ledger};
use crate::error::Error;

impl Ledger {
    /// The ledger with these tokens for its messages. A row keeps the tokens of its texts; a message's other tokens are its
    /// own. One that has fewer than its texts gives them up where a template drops them: thinking first, then from the end.
    ///
    /// # Errors
    ///
    /// [`Error::Length`] where there are not as many numbers as messages.
    pub fn framed(mut self, totals: &[u32]) -> Result<Self, Error> {
        if totals.len() != self.messages() {
            return Err(Error::Length { what: "totals", want: self.messages(), got: totals.len() });
        }
        self.tokens.clone_from(&self.texts);
        for (message, &total) in totals.iter().enumerate() {
            let rows = self.rows_of(message);
            let texts: u64 = self.texts[rows.clone()].iter().map(|tokens| u64::from(*tokens)).sum();
            self.overhead[message] = u32::try_from(u64::from(total).saturating_sub(texts)).unwrap_or(total);
            let mut excess = texts.saturating_sub(u64::from(total));
            let (thinking, others): (Vec<_>, Vec<_>) =
                rows.rev().filter(|_| excess > 0).partition(|row| self.kind[*row] == Kind::Thinking);
            for row in thinking.into_iter().chain(others) {
                let less = u32::try_from(excess).unwrap_or(u32::MAX).min(self.tokens[row]);
                self.tokens[row] -= less;
                excess -= u64::from(less);
            }
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::Role;

    fn ledger() -> Ledger {
        Ledger {
            owner: vec![0, 1, 1, 1],
            kind: vec![Kind::Text, Kind::Thinking, Kind::Text, Kind::Call],
            texts: vec![10, 20, 5, 7],
            first: vec![0, 1, 4],
            role: vec![Role::User, Role::Assistant],
            tokens: vec![12, 22, 5, 9],
            overhead: vec![3, 4],
            ..Ledger::default()
        }
    }

    #[test]
    fn a_message_has_the_tokens_that_it_is_given() {
        for totals in [[10, 32], [15, 40], [0, 0], [3, 12], [9, 11], [u32::MAX, 1]] {
            let framed = ledger().framed(&totals).expect("as many as messages");
            assert_eq!(framed.per_message(), Ok(totals.to_vec()));
        }
    }

    #[test]
    fn dropped_texts_are_those_of_thinking_first_and_then_the_last() {
        let of = |total| ledger().framed(&[10, total]).expect("as many as messages").tokens;
        assert_eq!(of(40), [10, 20, 5, 7]);
        assert_eq!(of(15), [10, 3, 5, 7]);
        assert_eq!(of(6), [10, 0, 5, 1]);
    }

    #[test]
    fn other_messages_have_other_numbers() {
        assert!(ledger().framed(&[1]).is_err());
        assert!(ledger().framed(&[1, 2, 3]).is_err());
    }
}
