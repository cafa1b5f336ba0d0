//! Lines of which another one says every word.

use super::line::{Candidate, Section};
use super::words::{Map, Set};

/// Words of a line without the end of a sentence from which it is no heading.
const HEADING: usize = 5;

/// The chosen candidates without the lines whose words stand, in their order, in another line of the section, which is of
/// the same message or of a later one: an older line may say the opposite around them.
///
/// Each comes with its words, as one text. Rules are not compared, as each stands as it was said, nor are commands: of two,
/// the longer one may have ended otherwise. A line that others stand below stays.
pub fn uncovered<'c>(told: &[(&'c Candidate, &'c str)]) -> Vec<&'c Candidate> {
    let is_kept = |section| matches!(section, Section::Commands | Section::Rules | Section::Project);
    let is_line = |one: &Candidate| one.group.is_empty() && !is_kept(one.section);
    let mut with_word = Map::<&str, Vec<usize>>::default();
    for (place, (_, key)) in told.iter().enumerate().filter(|(_, (one, _))| is_line(one)) {
        for word in key.split(' ') {
            let places = with_word.entry(word).or_default();
            if places.last() != Some(&place) {
                places.push(place);
            }
        }
    }
    let places: Set<(Section, i64, i64)> = told.iter().map(|(one, _)| (one.section, one.at.0, one.at.1)).collect();
    let above: Set<(Section, i64)> =
        told.iter().filter(|(one, _)| one.at.1 > 0).map(|(one, _)| (one.section, one.at.0)).collect();
    let opens = |one: &Candidate, key: &str| {
        let is_followed = places.contains(&(one.section, one.at.0, one.at.1 + 1));
        let ends = one.text.ends_with(['.', '!', '?', '。', '！', '？']);
        let is_heading = one.section.is_users() && !ends && key.split(' ').count() < HEADING;
        let is_first = one.section == Section::Requests && one.at.1 == 0 && above.contains(&(one.section, one.at.0));
        is_first || (is_followed && (is_heading || one.text.ends_with([':', '：'])))
    };
    let is_covered = |place: usize| {
        let (one, key) = told[place];
        let rarest = key.split(' ').map(|word| &with_word[word]).min_by_key(|places| places.len());
        let covers = |at: &usize| {
            let (more, words) = told[*at];
            more.section == one.section && more.at.0 >= one.at.0 && words.len() > key.len() && has_words(words, key)
        };
        !opens(one, key) && rarest.is_some_and(|places| places.iter().any(covers))
    };
    let stays = |(place, _): &(usize, &(&'c Candidate, &'c str))| !is_line(told[*place].0) || !is_covered(*place);
    told.iter().enumerate().filter(stays).map(|(_, (one, _))| *one).collect()
}

/// Whether words stand in a text of words, one behind the other.
fn has_words(text: &str, words: &str) -> bool {
    text.match_indices(words).any(|(at, _)| {
        let (before, behind) = (&text[..at], &text[at + words.len()..]);
        (before.is_empty() || before.ends_with(' ')) && (behind.is_empty() || behind.starts_with(' '))
    })
}

#[cfg(test)]
mod tests {
    use super::has_words;

    #[test]
    fn words_stand_in_a_text_whole_and_in_their_order() {
        for text in ["run the tests", "first run the tests", "prerun the tests or run the tests"] {
            assert!(has_words(text, "run the tests"), "{text}");
        }
        for text in ["prerun the tests", "run the testsuite", "run all the tests", "tests run the"] {
            assert!(!has_words(text, "run the tests"), "{text}");
        }
    }
}
