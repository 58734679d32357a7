//! Where a finding is shown in a report that knows one place for each, and in which words.

use crate::report::kinds::FindingSeverity;
use crate::report::model::Finding;
use crate::report::model::Fleet;
use crate::report::model::Location;
use crate::report::model::Region;
use crate::report::model::SETTINGS;
use crate::report::model::Subject;
use crate::report::open::is_open;
use crate::report::words::on_pools;
use crate::report::words::title;
use crate::source::SourceText;
use std::fmt::Write as _;

/// The one place that a finding is shown at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spot<'a> {
    /// File; the name of the subject where no place lies in a file.
    pub path: &'a str,
    /// Place in it.
    pub region: Option<Region>,
    /// Whether it lies in the fleet file, which says nothing of the image.
    of_fleet: bool,
    /// Which of the finding's places it is.
    at: Option<usize>,
}

impl<'a> Spot<'a> {
    /// The first place in a file of the input, else in a description or in settings, else in the fleet file, else the subject itself.
    pub fn of(finding: &'a Finding, subject: &'a Subject, fleet: &'a Fleet) -> Self {
        let in_text = |kind: &str| {
            let found = finding.locations.iter().position(|place| place.kind == kind && place.region.is_some());
            found.and_then(|at| Some((at, finding.locations.get(at)?)))
        };
        if let Some((at, place)) = ["file", "description", SETTINGS, "fleet"].into_iter().find_map(in_text) {
            return Self { path: &place.path, region: place.region, of_fleet: place.kind == "fleet", at: Some(at) };
        }
        // A finding on an image without any line: the pool that it is about, where somebody wrote it down.
        let pool = fleet.pools.iter().find(|pool| finding.pools.contains(&pool.name));
        let pool = pool.and_then(|pool| pool.location.as_ref());
        let spot = Self::at(pool.filter(|_| subject.kind == "image"), &subject.name);
        Self { of_fleet: spot.region.is_some(), ..spot }
    }

    /// A place where there is one with a line, else the thing itself.
    pub fn at(place: Option<&'a Location>, name: &'a str) -> Self {
        match place.filter(|place| place.region.is_some()) {
            Some(place) => Self { path: &place.path, region: place.region, of_fleet: false, at: None },
            None => Self { path: name, region: None, of_fleet: false, at: None },
        }
    }

    /// The image that a finding is about, where its place does not tell: the fleet file, a list, a manifest, a Dockerfile
    /// that several targets are built from.
    pub fn unnamed(&self, subject: &Subject) -> Option<String> {
        let elsewhere = self.path != subject.name;
        // A target of a file of builds shares its Dockerfile with others.
        let of_builds = subject.name.contains(':');
        (self.of_fleet || elsewhere && (subject.kind == "image" || of_builds)).then(|| title(subject))
    }

    /// The line, from 1; the first where no place is known.
    pub fn line(&self) -> usize {
        self.region.map_or(1, |region| region.start_line)
    }

    /// The column in bytes, from 1.
    pub fn column(&self) -> usize {
        self.region.map_or(1, |region| region.start_column)
    }

    /// The finding's other places that lie in a text.
    pub fn others(&self, finding: &'a Finding) -> impl Iterator<Item = (&'a Location, Region)> + use<'a> {
        let at = self.at;
        let others = finding.locations.iter().enumerate().filter(move |(index, _)| Some(*index) != at);
        others.filter_map(|(_, place)| Some((place, place.region?)))
    }
}

/// The region on its first line alone: a change of one line is shown with it.
#[must_use]
pub fn one_line(region: Region, text: Option<&SourceText>) -> Region {
    if region.end_line <= region.start_line {
        return region;
    }
    let rest = text.and_then(|text| text.text().get(region.start_byte..)).unwrap_or_default();
    let length = rest.lines().next().unwrap_or_default().len();
    Region {
        end_line: region.start_line,
        end_column: region.start_column + length,
        end_byte: region.start_byte + length,
        ..region
    }
}

/// First and last column counted in UTF-16 units, as editors and forges do.
pub fn utf16(region: Region, text: Option<&SourceText>) -> (usize, usize) {
    let counted = |line: usize, column: usize| {
        let whole = text.and_then(|text| text.text().split('\n').nth(line.saturating_sub(1)));
        let before = whole.and_then(|whole| whole.get(..column.saturating_sub(1)));
        before.map_or(column, |before| before.encode_utf16().count() + 1)
    };
    (counted(region.start_line, region.start_column), counted(region.end_line, region.end_column))
}

/// What [`advice`] says, behind the image that it is about where the place does not tell; of an image for which no single
/// change does, what does instead.
pub fn named_advice(finding: &Finding, subject: &Subject, spot: &Spot<'_>) -> String {
    let image = spot.unnamed(subject).map_or_else(String::new, |image| format!("{image}: "));
    let split = subject.split.as_ref().filter(|_| finding.severity == FindingSeverity::Error && !is_open(finding));
    let split = split.map_or_else(String::new, |split| format!("\nnote: {split}"));
    format!("{image}{}{split}", advice(finding))
}

/// A message with its pools, its cause, the error that a user sees, and what to do about it.
pub fn advice(finding: &Finding) -> String {
    let mut told = on_pools(finding);
    let lines = [("cause", &finding.cause), ("you will see", &finding.symptom), ("help", &finding.help)];
    for (key, text) in lines {
        if let Some(text) = text {
            let _ = write!(told, "\n{key}: {text}");
        }
    }
    for other in &finding.also_unknown {
        let _ = write!(told, "\nalso unknown: {other}");
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::Span;

    #[test]
    fn columns_count_what_others_count() {
        let text = SourceText::new("x", "a\u{10400}b\nRUN x \\\n  y\n");
        let region = Region::of(&text, Span::new(5, 6));
        assert_eq!((region.start_column, region.end_column), (6, 7));
        assert_eq!(utf16(region, Some(&text)), (4, 5));
        assert_eq!(utf16(region, None), (6, 7));
        assert_eq!(one_line(region, Some(&text)), region);
    }

    #[test]
    fn a_tall_region_keeps_its_first_line() {
        let text = SourceText::new("x", "FROM x\nRUN x \\\n  y\n");
        let region = one_line(Region::of(&text, Span::new(7, 18)), Some(&text));
        assert_eq!((region.start_line, region.end_line, region.start_column, region.end_column), (2, 2, 1, 8));
        assert_eq!(&text.text()[region.start_byte..region.end_byte], "RUN x \\");
    }
}
