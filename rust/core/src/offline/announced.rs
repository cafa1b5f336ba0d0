//! Statements of the assistant that only announce: what follows them says more.

use super::line::{Line, Section};
use super::part::{Kind, Part};
use super::pattern::pattern;
use super::text::split;

/// Least bytes of a conclusion.
pub const LEAST: usize = 20;

/// Words of praise and order in front of an announcement, and its condition.
macro_rules! lead {
    () => {
        concat!(
            r"(?i)^(?:(?:ok(?:ay)?|good|great|perfect|right|alright|excellent|wait|now|next|first|then|finally|sure|so",
            r"|and|also|you['’]?re (?:absolutely )?right|(?:good|great) (?:idea|point|question|call))[,.!:;]? (?:- )?)*",
            r"(?:(?:once|now that|if|after|before|when|while|until|since|as)\b(?:[^,]{1,120},|[^,]{1,40}) )?",
        )
    };
}
/// Verbs of a step.
macro_rules! verbs {
    () => {
        concat!(
            r"(?:add|apply|build|change|check|clean|commit|confirm|create|debug|examine|explore|find|fix|implement|insert",
            r"|install|investigate|look|modify|move|pass|read|reconsider|refactor|remove|rename|replace|run|search|see|start|store",
            r"|test|trace|try|understand|update|verify|wire|write)",
        )
    };
}

pattern!(
    /// A statement of what the speaker is about to do or is doing.
    INTENDS = lead!(),
    r"(?:let me|let['’]s|i['’]ll|i will|i(?:['’]m| am) (?:(?:now|also|still|just) )?(?:about to|not \w+ing|\w+ing)",
    r"|(?:i|we) (?:now |also |still )?(?:need|have) to (?:also )?",
    verbs!(),
    r"|we (?:can|could|should) (?:also )?(?:check|find|list|look|navigate|open|run|start|try|use the)",
    r"|it would be (?:a good idea|good|useful|best) to|we['’]ll|i['’]ve (?:loaded|read)|proceeding (?:to|with)",
    r"|using the .{1,40} (?:skill|workflow))\b",
);
pattern!(
    /// A step that is named, not told.
    STEP = r"(?i)^(?:(?:now|next|first|then),? (?:i|we) (?:also )?(?:need|have|want) to \w+",
    r"|(?:now,? |(?:step|phase|task) \d+\w?[:.] )",
    verbs!(),
    r"(?:ing)?)\b",
);
pattern!(
    /// Praise of an idea, and what the speaker has read without what it says.
    READY = lead!(),
    r"(?:(?:good|great) (?:idea|point|question|catch) .{0,60}\.$|i (?:now )?(?:have (?:all|everything|enough",
    r"|a (?:good|clear|full|complete|comprehensive|better) (?:picture|understanding)",
    r"|the (?:full |complete )?(?:context|picture|info))\b|(?:see|understand)(?: (?:now|it|this|the [\w ]{1,20}))?\.$))",
);
pattern!(
    /// A state that lasts until the next report.
    WAITS = r"(?i)^still (?:no|waiting|running|working|pending|in progress)\b|\bno (?:new |final )?(?:completion|output|result|response)(?: signal)? yet\b",
    r"|\b(?:is|are) taking (?:a (?:moment|few|while)|longer|some time)\b",
    r"|[;,] (?:so |but |and |then )?i['’](?:ll|m) (?:also |now )?(?:keep \w+ing|continu|wait|monitor|poll|watch)",
    r"|^(?:[\w-]+ ){0,3}(?:agents?|workers?|it|they|all|both|two|three|others?|jobs?|builds?|tests?|suite|commands?)\b",
    r".{0,20}\bstill (?:\w+ )?(?:running|working|active|waiting|pending|in progress|completing|returning)\b",
    r"|^(?:[\w`'’-]+ ){1,5}(?:is|are) still (?:running|working|waiting|pending|in progress|executing|building|compiling|starting)\b",
);
pattern!(WAITING = r"(?i)\b(?:wait(?:ing)?|pending)\b");
pattern!(
    /// A judgement that names neither what was judged nor a number.
    JUDGES = r"(?i)^(?:(?:ok(?:ay)?|good|great|perfect|excellent|yes|so|and|now)[,.!:;]? )*",
    r"(?:(?:that|this|it|all|everything|(?:the|that|this|my|your) (?:\w+ ){1,3})(?: now)? ?(?:looks?|seems?|is|are)",
    r"|all|everything) (?:now |all |also )?(?:correct|right|good|fine|great|clean|clear|ok(?:ay)?|well|in place|as expected)[.!]?$",
);
pattern!(
    /// A question for leave or for a choice.
    ASKS = r"(?i)^(?:would you|do you want|(?:do you )?want me|shall i|should i|can you|could you",
    r"|which (?:approach|option|one))\b.*\?$",
);
pattern!(
    /// A choice with its reason, for which an announcement is a decision.
    CHOICE = r"(?i)\b(?:us(?:e|ing)|go(?:ing)? with|switch\w*|choos\w+|pick\w*|prefer\w*|stor(?:e|ing)|skip\w*)\b",
    r".*\b(?:because|instead of|rather than|since|so that)\b",
);

/// Whether a sentence only announces, says that the speaker looked or waits, or finds something right.
pub fn announces(text: &str) -> bool {
    let is_one = || [&INTENDS, &STEP, &READY, &WAITS, &JUDGES].into_iter().any(|one| one.is_match(text));
    is_one() && !CHOICE.is_match(text)
}

/// Whether a sentence only says that the speaker waits.
pub fn waits(text: &str) -> bool {
    WAITING.is_match(text) && announces(text)
}

/// The sentences of a short line without those at its end that only announce; None where there are none.
fn without_steps(text: &str) -> Option<String> {
    let mut told = split(text);
    let number = told.len();
    while told.len() > 1 && told.last().is_some_and(|last| announces(last)) {
        told.pop();
    }
    (told.len() < number).then(|| told.join(" "))
}

/// Takes out the decisions that only announce, also at the end of a line, and the questions that a later message of the user
/// answers.
///
/// The announcements of the last message stay if nothing is said after it: they are the next step. What only says that the
/// speaker is ready goes.
pub fn settle(lines: &mut Vec<Line>, later: &[Line], spoken: &[&Part]) {
    let decided = lines.iter().filter(|line| line.section == Section::Decisions);
    let next = decided.map(|line| line.at).max().filter(|_| later.is_empty());
    let answered = spoken.iter().filter(|part| part.kind == Kind::User).map(|part| part.at).max().unwrap_or(-1);
    lines.retain_mut(|line| {
        if line.section != Section::Decisions {
            return true;
        }
        let rest = without_steps(&line.text).filter(|_| Some(line.at) != next);
        let says_little = rest.as_ref().is_some_and(|rest| rest.len() < LEAST);
        if let Some(rest) = rest {
            line.text = rest;
        }
        let is_settled = (announces(&line.text) && (Some(line.at) != next || READY.is_match(&line.text)))
            || (line.at < answered && ASKS.is_match(&line.text));
        !is_settled && !says_little
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sentence_that_tells_what_comes_next_announces() {
        for text in [
            "Let me read the parser first.",
            "Good, now let me check the imports.",
            "Now add the import of the codec.",
            "Step 3: Update the schema.",
            "I’m checking the branch before I go on.",
            "I need to see where the flag is read.",
            "Now I have a clear picture.",
            "Good, I have all the context I need.",
            "Now I understand the structure.",
            "The two workers are still running.",
            "No completion signal yet.",
        ] {
            assert!(announces(text), "{text}");
        }
    }

    #[test]
    fn a_finding_a_result_and_a_choice_with_its_reason_do_not() {
        for text in [
            "The parser reads the flag twice.",
            "Now gets the hash of the branch and stops there.",
            "Step 3: Updated the schema.",
            "I found two callers of the codec, so I'm changing both.",
            "I'll use the list instead of the map: it keeps the order.",
            "I was wrong about the codec.",
            "Tests pass. Let me build it.",
        ] {
            assert!(!announces(text), "{text}");
        }
    }
}
