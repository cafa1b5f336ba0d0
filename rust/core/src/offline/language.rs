//! The language of the user's words, and the headings in it.

use std::sync::LazyLock;

use trimtab_tokens::is_letter;

use super::pattern::{head, strip};
use super::words::{Map, Set, plain_words};

/// The language of a summary's headings, as a row of the titles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Language(usize);

/// The headings in each language, in the order of [`super::line::Section::ALL`]; English first.
const TITLES: [&str; 9] = [
    "Rules|Project rules|Requests|Earlier|Decisions|Files|Commands|Errors|Identifiers|Open items",
    "Reglas|Reglas del proyecto|Peticiones|Antes|Decisiones|Archivos|Comandos|Errores|Nombres|Pendiente",
    "Règles|Règles du projet|Demandes|Avant|Décisions|Fichiers|Commandes|Erreurs|Noms|À faire",
    "Regeln|Projektregeln|Anfragen|Zuvor|Entscheidungen|Dateien|Befehle|Fehler|Namen|Offen",
    "Regras|Regras do projeto|Pedidos|Antes|Decisões|Arquivos|Comandos|Erros|Nomes|Pendente",
    "Правила|Правила проекта|Запросы|Ранее|Решения|Файлы|Команды|Ошибки|Имена|Открыто",
    "规则|项目规则|请求|此前|决定|文件|命令|错误|名称|待办",
    "ルール|プロジェクトのルール|依頼|以前|決定|ファイル|コマンド|エラー|名前|未完了",
    "규칙|프로젝트 규칙|요청|이전|결정|파일|명령|오류|이름|남은 일",
];
const RUSSIAN: Language = Language(5);
const CHINESE: Language = Language(6);
const JAPANESE: Language = Language(7);
const KOREAN: Language = Language(8);

/// Short words of the languages that share a script, in the order of the titles.
const WORDS: [&str; 5] = [
    "the and is to of that for with you this not it in on we be",
    "el la los las que y en por para con una se lo está pero como un del es",
    "le la les des et est que pour dans une pas sur avec ce je vous il un du en",
    "der das und ist nicht ein eine mit für auf den ich wir bitte zu dem im es",
    "o que e em para com uma não se por da é um os mas como você isso",
];
/// Characters that are read.
pub const READ: usize = 4_000;
/// Least words of a language, and least different ones: `e` and `o` are flags and names too.
const LEAST: usize = 4;
const LEAST_DIFFERENT: usize = 3;

impl Language {
    /// The language of a text: by its script, or by the short words of some languages; that of the earlier summary's
    /// headings where neither tells.
    pub fn of(text: &str, earlier: &str) -> Self {
        static KNOWN: LazyLock<[Set<&str>; 5]> = LazyLock::new(|| WORDS.map(|words| words.split(' ').collect()));
        let text = head(text, READ);
        let (mut letters, mut korean, mut kana, mut han, mut cyrillic) = (0, 0, 0, 0, 0);
        for c in text.chars().filter(|c| is_letter(*c)) {
            letters += 1;
            match c {
                '가'..='힣' => korean += 1,
                'ぁ'..='ヿ' => kana += 1,
                '一'..='鿿' => han += 1,
                'а'..='я' | 'А'..='Я' => cyrillic += 1,
                _ => {}
            }
        }
        if 3 * korean > letters {
            return KOREAN;
        }
        if kana > 0 && 3 * (kana + han) > letters {
            return JAPANESE;
        }
        if 3 * han > letters {
            return CHINESE;
        }
        if 2 * cyrillic > letters {
            return RUSSIAN;
        }
        let small = text.to_lowercase();
        let mut found = [0_usize; 5];
        let mut seen: [Set<&str>; 5] = Default::default();
        for word in plain_words(&small, 1, false) {
            for at in (0..KNOWN.len()).filter(|at| KNOWN[*at].contains(word)) {
                found[at] += 1;
                seen[at].insert(word);
            }
        }
        // The first of equals, as everywhere.
        let best = (0..found.len()).rev().max_by_key(|at| found[*at]).unwrap_or_default();
        let is_told = found[best] >= LEAST && seen[best].len() >= LEAST_DIFFERENT;
        match is_told && 2 * found[best] > 3 * found[0] {
            true => Self(best),
            false if found[0] < LEAST => Self::of_headings(earlier),
            false => Self(0),
        }
    }

    /// The language of a summary's first heading; English where it has none.
    fn of_headings(summary: &str) -> Self {
        let title = summary.split('\n').find_map(|line| line.strip_prefix("## ")).map(strip);
        let named = |titles: &str| title.is_some_and(|title| titles.split('|').any(|one| one == title));
        Self(TITLES.iter().position(|titles| named(titles)).unwrap_or_default())
    }

    /// The heading of a section, by its place.
    pub fn title(self, section: usize) -> &'static str {
        TITLES[self.0].split('|').nth(section).unwrap_or_default()
    }
}

/// The place of the section with a heading, in any language.
pub fn place_of(title: &str) -> Option<usize> {
    static NAMED: LazyLock<Map<&str, usize>> = LazyLock::new(|| {
        TITLES.iter().flat_map(|titles| titles.split('|').enumerate().map(|(at, one)| (one, at))).collect()
    });
    NAMED.get(title).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_is_known_by_its_script_or_its_short_words() {
        for (text, language) in [
            ("", 0),
            ("Please run the tests of this crate and tell me what is not right with it.", 0),
            ("No uses la base de datos de producción para las pruebas, que es lo que pasó ayer.", 1),
            ("Ne touche pas la base de production, je vous en prie: il y a les données des clients.", 2),
            ("Bitte fass die Datenbank nicht an, das ist die Produktion und ich brauche sie.", 3),
            ("Não mude o banco de produção, para que os testes não falhem com uma surpresa.", 4),
            ("commit; e.g. -e a.txt, -e b.txt, -o out, e2e", 0),
            ("Никогда не трогай базу данных.", 5),
            ("不要修改 main 分支。", 6),
            ("main ブランチには触らないでください。", 7),
            ("main 브랜치는 절대 수정하지 마세요.", 8),
        ] {
            assert_eq!(Language::of(text, ""), Language(language), "{text}");
        }
        assert_eq!(Language::of("Weiter.", "## Regeln\n\n- Nie auf main."), Language(3));
        assert_eq!(Language::of("You know that this is not it, and so on.", "## Regeln\n- x"), Language(0));
        assert_eq!((Language(3).title(0), place_of("Projektregeln"), place_of("x")), ("Regeln", Some(1), None));
    }
}
