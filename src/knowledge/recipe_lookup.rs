//! Lookups about the Dockerfiles of CUDA base images: by operating system, architecture and date.

use jiff::civil::Date;

use crate::knowledge::Knowledge;
use crate::knowledge::rows::CudaRecipeRow;

impl CudaRecipeRow {
    /// Returns its architectures on an operating system, as named in a tag.
    pub fn architectures_on(&self, os: &str) -> impl Iterator<Item = &'static str> {
        let own = self.arches.iter().find(|(own, _)| *own == os).map_or("", |(_, arches)| *arches);
        own.split(' ').filter(|arch| !arch.is_empty())
    }

    /// Whether it applies to an operating system and an architecture.
    pub fn is_for(&self, os: &str, arch: &str) -> bool {
        self.architectures_on(os).any(|own| own == arch)
    }

    /// Whether it applies on a day.
    fn applies_on(&self, day: Date) -> bool {
        self.first.is_none_or(|first| first <= day) && self.until.is_none_or(|until| day < until)
    }

    /// Whether it has ended by a day; always true without a day.
    fn has_ended_by(&self, day: Option<Date>) -> bool {
        day.is_none_or(|day| self.until.is_some_and(|until| until <= day))
    }
}

impl Knowledge {
    /// Returns the recipes of a version, as named in tags.
    pub fn cuda_recipes_for_version(self, version: &str) -> impl Iterator<Item = &'static CudaRecipeRow> {
        self.cuda_recipes().iter().filter(move |row| row.version == version)
    }
}

/// Returns the recipe of the image that a tag refers to on a day, or now; several if ambiguous, none before the first
/// image.
pub fn recipes_on_day(rows: &[&'static CudaRecipeRow], day: Option<Date>) -> Vec<&'static CudaRecipeRow> {
    let of = |keep: &dyn Fn(&CudaRecipeRow) -> bool| -> Vec<&'static CudaRecipeRow> {
        rows.iter().copied().filter(|row| keep(row)).collect()
    };
    let now = of(&|row| day.map_or(row.until.is_none(), |day| row.applies_on(day)));
    if !now.is_empty() {
        return now;
    }
    let last = rows.iter().filter(|row| row.has_ended_by(day)).filter_map(|row| row.until).max();
    of(&|row| last.is_some() && row.until == last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirements(version: &str, os: &str, arch: &str, day: Option<&str>) -> Vec<&'static str> {
        let rows: Vec<_> =
            Knowledge::built_in().cuda_recipes_for_version(version).filter(|row| row.is_for(os, arch)).collect();
        let found = recipes_on_day(&rows, day.map(|day| day.parse().expect(day)));
        found.iter().map(|row| row.require.unwrap_or("absent")).collect()
    }

    #[test]
    fn a_tag_has_on_each_system_what_its_own_recipe_said_last() {
        for (version, os, arch, expected) in [
            ("11.8.0", "ubuntu18.04", "amd64", &["r11_8_d"][..]),
            ("11.8.0", "ubuntu22.04", "amd64", &["r11_8_f"]),
            ("11.8.0", "ubuntu22.04", "arm64", &["r11_8_b"]),
            ("11.4.3", "ubuntu20.04", "amd64", &["r11_4_b"]),
            ("11.4.3", "ubuntu18.04", "amd64", &["r11_4_d"]),
            ("11.4.3", "centos8", "amd64", &["r11_4_c"]),
            ("11.6.1", "ubuntu20.04", "arm64", &["absent"]),
            ("11.6.1", "ubi8", "ppc64le", &["absent"]),
            // The recipe changed and was retired within three hours.
            ("11.7.0", "ubuntu20.04", "amd64", &["r11_7_d", "r11_7_e"]),
            ("11.7.0", "ubuntu18.04", "amd64", &["r11_7_d"]),
            ("13.3.0", "ubuntu24.04", "arm64", &["r13_3_a"]),
            ("13.3.1", "ubuntu24.04", "amd64", &["r13_3_b"]),
            ("11.8.0", "centos7", "arm64", &[]),
            ("11.8.0", "debian11", "amd64", &[]),
            ("11.8.0", "ubuntu22.04", "riscv64", &[]),
            ("11.8.0", "", "", &[]),
            ("10.2", "ubuntu18.04", "arm64", &[]),
            ("13.4.1", "ubuntu24.04", "amd64", &[]),
        ] {
            assert_eq!(requirements(version, os, arch, None), expected, "{version} {os} {arch}");
        }
    }

    #[test]
    fn a_day_means_what_the_recipe_said_then_and_a_retired_image_stays() {
        for (version, os, arch, day, expected) in [
            ("11.2.2", "ubuntu20.04", "amd64", "2021-03-14", &[][..]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-03-15", &["r11_2_b"]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-04-18", &["r11_2_b"]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-06-29", &["r11_2_c"]),
            // For three weeks the recipes of Ubuntu asked for CUDA 11.4, those of other systems did not.
            ("11.2.2", "ubuntu20.04", "amd64", "2021-07-20", &["r11_4_a"]),
            ("11.2.2", "ubi8", "amd64", "2021-07-20", &["r11_2_c"]),
            ("11.2.2", "ubuntu20.04", "amd64", "2021-08-05", &["r11_2_c"]),
            ("11.2.2", "ubuntu18.04", "amd64", "2026-01-01", &["r11_2_e"]),
            ("11.2.2", "centos8", "amd64", "2026-01-01", &["r11_2_c"]),
            ("11.2.2", "rockylinux8", "amd64", "2021-06-29", &[]),
            ("9.0", "ubuntu16.04", "amd64", "2018-03-01", &["r9_0_a"]),
            ("10.0", "ubuntu18.04", "amd64", "2018-10-01", &["r10_0_d"]),
            // The recipes of other systems were elsewhere then.
            ("10.0", "ubuntu16.04", "amd64", "2018-10-01", &[]),
            ("13.2.0", "ubuntu24.04", "amd64", "2025-08-17", &[]),
        ] {
            assert_eq!(requirements(version, os, arch, Some(day)), expected, "{version} {os} {arch} {day}");
        }
        assert!(recipes_on_day(&[], None).is_empty() && recipes_on_day(&[], Some(Date::MAX)).is_empty());
    }
}
