//! Commands that only show something.

use super::pattern::{head, pattern, strip};

/// What may stand in front of a command: values of variables, and a program that runs it.
macro_rules! lead {
    () => {
        concat!(
            r"^\s*(?:[A-Za-z_]\w*=(?:\$\(|\S* )|(?:time|sudo|command|nice|timeout \S+",
            r"|[\w./-]+ (?:run|exec|x)(?: [\w./:@=-]+)* --) )*",
        )
    };
}

pattern!(
    LOOKS = lead!(),
    r"(?:cd|true|sort|uniq|cut|tr|xargs|awk|jq|nl|cat|ls|sed -n|head|tail",
    r"|rg|grep|find|wc|pwd|which|echo|printf|tree|file|stat",
    r"|(?:\w+ )?git (?:-[cC] \S+ |-\S+ )*(?:diff|show|log|status|blame|ls-files|ls-tree|ls-remote|grep|shortlog|rev-parse",
    r"|rev-list|merge-base|show-ref|cat-file|check-ignore|remote -v|branch -[arv]+|branch --(?:list|all|show-current",
    r"|contains)|worktree list|stash (?:list|show)|tag (?:-l|--list))",
    r"|gh \w+ (?:view|list|status|checks|diff)|go (?:doc|env|list|mod graph)",
    r"|[\w./-]+ (?:-[\w-]+ )*(?:status|list|show|view|help|search|logs|ps|info|describe|wait|capture)",
    r"|[\w./-]+(?: [\w./:-]+)* --(?:help|version))\b",
    r"|^\s*sed ''(?: |$)|^\s*(?:[A-Za-z_]\w*=\S*\s*)+$",
);
pattern!(
    /// Commands whose names begin others' names.
    SHORT = lead!(),
    r"(?:(?:printenv|date|whoami|hostname|uname|df|du|ps|sleep|basename|dirname|realpath|readlink|diff|cmp",
    r"|test|less|column|hexdump|xxd|od|strings|fd|bat|yq|md5sum|sha\d+sum)(?:\s|$)|(?:\w+ )?git branch\s*$)",
);
pattern!(
    /// A command of a program's subcommand.
    NESTED = lead!(),
    r"[\w./-]+ ([\w-]+) (?:status|list|show|view|get|help|logs|ps|info|describe)(?:\s|$)",
);
/// Subcommands behind which such a word is a name.
const ACTS: [&str; 29] = [
    "add", "apply", "branch", "build", "checkout", "clone", "commit", "create", "delete", "deploy", "exec", "install",
    "kill", "merge", "pub", "publish", "push", "rebase", "remove", "reset", "restart", "rm", "run", "set", "start",
    "stop", "switch", "test", "update",
];
pattern!(pub QUOTED = r#"'[^']*'|"[^"]*""#);
pattern!(BETWEEN = r"&&|\|\|?|;|\n");
pattern!(
    /// An output that goes nowhere, or where nobody looks for work.
    ASIDE = r"[0-9&]?>>?\s*(?:&\d|/dev/null|/tmp/\S*)"
);
pattern!(
    /// Changes by a command that else only finds.
    CHANGES = r"\s-delete\b|(?:\s-exec(?:dir)?|\bxargs)(?: -\S+(?: \d+)?)* (?:rm|mv|cp|sed -i|chmod|chown|kill|mkdir|touch|tee",
    r"|git (?:add|rm|mv|checkout|restore))\b"
);

/// Whether a command only reads.
pub fn looks(text: &str) -> bool {
    let bare = QUOTED.replaced(head(text, 2_000), "''");
    let bare = ASIDE.replaced(&bare, " ");
    let mut commands = BETWEEN.split(&bare).into_iter().filter(|one| !strip(one).is_empty());
    commands.all(looks_at) && !bare.contains('>') && !CHANGES.is_match(&bare)
}

fn looks_at(command: &str) -> bool {
    let is_nested = || NESTED.groups(command).is_some_and(|found| !ACTS.contains(&found.text(1)));
    LOOKS.is_match(command) || SHORT.is_match(command) || is_nested()
}
