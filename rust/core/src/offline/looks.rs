//! Commands that only show something.

use super::pattern::{head, pattern, strip};

pattern!(
    LOOKS = r#"^\s*(?:bash -l?c ['"]|[A-Z_]+=\S*\(?|cd|true|sort|uniq|cut|tr|xargs|awk|jq|nl|cat|ls|sed -n|head|tail"#,
    r"|rg|grep|find|wc|pwd|which|echo|printf|tree|file|stat|(?:\w+ )?git (?:diff|show|log|status|blame|ls-files|ls-tree",
    r"|rev-parse|remote -v|branch -[arv]+)|gh \w+ (?:view|list|status|checks|diff)|go (?:doc|env|list|mod graph)",
    r"|[\w./-]+ (?:-[\w-]+ )*(?:status|list|show|view|help|search|logs|ps|info|describe|wait|capture)",
    r"|[\w./-]+(?: [\w./:-]+)* --(?:help|version))\b|^\s*sed ''(?: |$)",
);
pattern!(pub QUOTED = r#"'[^']*'|"[^"]*""#);
pattern!(BETWEEN = r"&&|\|\|?|;|\n");

/// Whether a command only reads.
pub fn looks(text: &str) -> bool {
    let bare = QUOTED.replaced(head(text, 2_000), "''");
    BETWEEN.split(&bare).into_iter().filter(|one| !strip(one).is_empty()).all(|one| LOOKS.is_match(one))
}
