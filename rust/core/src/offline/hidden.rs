//! Why the exit code that a result states is not that of its command.

use super::pattern::{head, pattern};

pattern!(QUOTED = r#"'[^']*'|"[^"]*""#);
pattern!(KEPT = r"pipefail|PIPESTATUS|\$\?|<<");
pattern!(PIPE = r"[^|]\|(?:&|[^|]|$)");
pattern!(OR = r"\|\|\s*(?:true|:|echo|printf|exit 0)(?:\s|;|$)");
pattern!(LATER = r"[;\n]\s*(?:true|:|echo|printf|exit 0)(?:\s[^;&|\n]*)?\s*$");
pattern!(BACKGROUND = r"[^&>]&\s*$");

/// The reason why a shell command that failed may end with 0; none where its own exit code is the shell's.
pub fn hides(shell: &str) -> Option<&'static str> {
    let shell = head(shell, 2_000);
    if KEPT.is_match(shell) {
        return None;
    }
    let bare = QUOTED.replaced(shell, "''");
    let reasons = [
        (&OR, "`||` hides the exit code"),
        (&PIPE, "a pipe hides the exit code"),
        (&LATER, "a later command hides the exit code"),
        (&BACKGROUND, "it runs in the background"),
    ];
    reasons.into_iter().find(|(pattern, _)| pattern.is_match(&bare)).map(|(_, reason)| reason)
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
