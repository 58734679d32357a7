//! The location and the message of a finding in formats with one location per finding.

use std::fmt::Write as _;

use crate::report::finding_groups::is_about_unknown_verdict;
use crate::report::kinds::{FindingSeverity, LocationKind, SubjectKind};
use crate::report::model::{Finding, Fleet, Location, Region, Subject};
use crate::report::phrases::{message_with_pools, subject_title};
use crate::text::source::SourceText;

/// The one location at which a finding is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrimaryLocation<'a> {
    /// The file; the name of the subject if no location is in a file.
    pub path: &'a str,
    /// The region in the file.
    pub region: Option<Region>,
    /// Whether it is in the fleet file, which does not describe the image.
    in_fleet_file: bool,
    /// Which of the finding's places it is.
    at: Option<usize>,
}

impl<'a> PrimaryLocation<'a> {
    /// Returns the first location in a file of the input, else in a description or in settings, else in the fleet
    /// file, else the subject itself.
    pub fn of_finding(finding: &'a Finding, subject: &'a Subject, fleet: &'a Fleet) -> Self {
        let in_text = |kind: LocationKind| {
            let found = finding.locations.iter().position(|place| place.kind == kind && place.region.is_some());
            found.and_then(|at| Some((at, finding.locations.get(at)?)))
        };
        let kinds = [LocationKind::File, LocationKind::Description, LocationKind::Settings, LocationKind::Fleet];
        if let Some((at, place)) = kinds.into_iter().find_map(in_text) {
            return Self {
                path: &place.path,
                region: place.region,
                in_fleet_file: place.kind == LocationKind::Fleet,
                at: Some(at),
            };
        }
        // A finding on an image without any line: the pool that it is about, if a file declares it.
        let pool = fleet.pools.iter().find(|pool| finding.pools.contains(&pool.name));
        let pool = pool.and_then(|pool| pool.location.as_ref());
        let location = Self::at_location(pool.filter(|_| subject.kind == SubjectKind::Image), &subject.name);
        Self { in_fleet_file: location.region.is_some(), ..location }
    }

    /// Returns a location with a region, or else the input itself.
    pub fn at_location(place: Option<&'a Location>, name: &'a str) -> Self {
        match place.filter(|place| place.region.is_some()) {
            Some(place) => Self { path: &place.path, region: place.region, in_fleet_file: false, at: None },
            None => Self { path: name, region: None, in_fleet_file: false, at: None },
        }
    }

    /// Returns the image of a finding if the location does not identify it: the fleet file, a list, a manifest, or a
    /// Dockerfile with several targets.
    pub fn unnamed_image(&self, subject: &Subject) -> Option<String> {
        let elsewhere = self.path != subject.name;
        // A target of a file of builds shares its Dockerfile with others.
        let of_builds = subject.name.contains(':');
        (self.in_fleet_file || elsewhere && (subject.kind == SubjectKind::Image || of_builds))
            .then(|| subject_title(subject))
    }

    /// Returns the line, from 1; the first if no region is known.
    pub fn line(&self) -> usize {
        self.region.map_or(1, |region| region.start_line)
    }

    /// Returns the column in bytes, from 1.
    pub fn column(&self) -> usize {
        self.region.map_or(1, |region| region.start_column)
    }

    /// Returns the other locations of the finding that have a region.
    pub fn other_locations(&self, finding: &'a Finding) -> impl Iterator<Item = (&'a Location, Region)> + use<'a> {
        let at = self.at;
        let others = finding.locations.iter().enumerate().filter(move |(index, _)| Some(*index) != at);
        others.filter_map(|(_, place)| Some((place, place.region?)))
    }
}

/// Returns the part of a region on its first line.
#[must_use]
pub fn first_line_region(region: Region, text: Option<&SourceText>) -> Region {
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

/// Returns the first and the last column in UTF-16 units, as editors and forges count them.
pub fn utf16_columns(region: Region, text: Option<&SourceText>) -> (usize, usize) {
    let counted = |line: usize, column: usize| {
        let whole = text.and_then(|text| text.text().split('\n').nth(line.saturating_sub(1)));
        let before = whole.and_then(|whole| whole.get(..column.saturating_sub(1)));
        before.map_or(column, |before| before.encode_utf16().count() + 1)
    };
    (counted(region.start_line, region.start_column), counted(region.end_line, region.end_column))
}

/// Returns the full message, after the image if the location does not identify it; with a note if no single change
/// fixes the image.
pub fn message_with_image(finding: &Finding, subject: &Subject, location: &PrimaryLocation<'_>) -> String {
    let image = location.unnamed_image(subject).map_or_else(String::new, |image| format!("{image}: "));
    let split = subject
        .split
        .as_ref()
        .filter(|_| finding.severity == FindingSeverity::Error && !is_about_unknown_verdict(finding));
    let split = split.map_or_else(String::new, |split| format!("\nnote: {split}"));
    format!("{image}{}{split}", full_message(finding))
}

/// Returns the message of a finding with its pools, its cause, the error that a user sees, and its help.
pub fn full_message(finding: &Finding) -> String {
    let mut message = message_with_pools(finding);
    let lines = [("cause", &finding.cause), ("you will see", &finding.symptom), ("help", &finding.help)];
    for (key, text) in lines {
        if let Some(text) = text {
            let _ = write!(message, "\n{key}: {text}");
        }
    }
    for other in &finding.also_unknown {
        let _ = write!(message, "\nalso unknown: {other}");
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::source::Span;

    #[test]
    fn columns_count_what_others_count() {
        let text = SourceText::new("x", "a\u{10400}b\nRUN x \\\n  y\n");
        let region = Region::from_span(&text, Span::new(5, 6));
        assert_eq!((region.start_column, region.end_column), (6, 7));
        assert_eq!(utf16_columns(region, Some(&text)), (4, 5));
        assert_eq!(utf16_columns(region, None), (6, 7));
        assert_eq!(first_line_region(region, Some(&text)), region);
    }

    #[test]
    fn a_tall_region_keeps_its_first_line() {
        let text = SourceText::new("x", "FROM x\nRUN x \\\n  y\n");
        let region = first_line_region(Region::from_span(&text, Span::new(7, 18)), Some(&text));
        assert_eq!((region.start_line, region.end_line, region.start_column, region.end_column), (2, 2, 1, 8));
        assert_eq!(&text.text()[region.start_byte..region.end_byte], "RUN x \\");
    }
}
