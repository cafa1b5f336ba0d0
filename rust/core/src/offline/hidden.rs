//! Why the exit code that a result states is not that of its command.

use super::looks::{QUOTED, looks};
use super::pattern::{head, pattern, strip};

pattern!(KEPT = r"pipefail|PIPESTATUS|<<");
pattern!(SHOWN = r"\$\?");
pattern!(IF = r"(?:^|[;\n]\s*)if (?:! ?)?[^\[! ]");
pattern!(PIPE = r"[^|]\|(?:&|[^|]|$)");
pattern!(OR = r"\|\|\s*(?:true|:|echo|printf|exit 0)(?:\s|;|$)");
pattern!(LATER = r"[;\n]\s*(?:true|:|echo|printf|exit 0)(?:\s[^;&|\n]*)?\s*$");
pattern!(BACKGROUND = r"[^&>|]&(?:\s*$|[ \n]+[^&>\s])");
pattern!(SEQUEL = r"[;\n]");

const BY_LATER: &str = "a later command hides the exit code";

/// Why the outcome of a call is not known whose result was pruned.
pub const PRUNED: &str = "its output was pruned";

/// The reason why a shell command that failed may end with 0; none where its own exit code is the shell's.
pub fn hides(shell: &str) -> Option<&'static str> {
    let shell = head(shell, 2_000);
    if KEPT.is_match(shell) {
        return None;
    }
    let bare = QUOTED.replaced(shell, "''");
    if SHOWN.is_match(shell) && !PIPE.is_match(&bare) {
        return None; // it is printed, or handed on
    }
    let reasons = [
        (&OR, "`||` hides the exit code"),
        (&PIPE, "a pipe hides the exit code"),
        (&LATER, BY_LATER),
        (&IF, "a condition hides the exit code"),
        (&BACKGROUND, "it runs in the background"),
    ];
    let found = reasons.into_iter().find(|(pattern, _)| pattern.is_match(&bare)).map(|(_, reason)| reason);
    found.or_else(|| looks_afterwards(&bare).then_some(BY_LATER))
}

/// Whether the last of several commands only shows something.
fn looks_afterwards(bare: &str) -> bool {
    let commands = SEQUEL.split(bare);
    let mut said = commands.iter().filter(|one| !strip(one).is_empty());
    said.next_back().is_some_and(|last| said.next().is_some() && looks(last))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exit_code_is_hidden_by_what_runs_behind_the_command() {
        for (shell, reason) in [
            ("pytest -q | tail -5", Some("a pipe hides the exit code")),
            ("make |& tee log", Some("a pipe hides the exit code")),
            ("pytest || true", Some("`||` hides the exit code")),
            ("cargo test; echo done", Some("a later command hides the exit code")),
            ("npm run dev &", Some("it runs in the background")),
            ("pytest & sleep 5; kill %1", Some("it runs in the background")),
            ("pytest > out; tail -1 out", Some("a later command hides the exit code")),
            ("pytest\nls", Some("a later command hides the exit code")),
            ("pytest | tail -1; echo $?", Some("a pipe hides the exit code")),
            ("if pytest; then touch done; fi", Some("a condition hides the exit code")),
            ("if [ -f a ]; then pytest; fi", None),
            ("cat a; pytest", None),
            ("make &> log && pytest", None),
            ("pytest -q", None),
            ("a && b", None),
            ("a || b", None),
            ("set -o pipefail; pytest | tail", None),
            ("pytest | tail; echo ${PIPESTATUS[0]}", None),
            ("make; echo $?", None),
            ("grep 'a|b' f.txt", None),
            ("make > log 2>&1", None),
        ] {
            assert_eq!(hides(shell), reason, "{shell}");
        }
    }
}
