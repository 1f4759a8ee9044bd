//! Test runners that neither npm nor pip can install; a test reports that it is skipped if its runner is
//! missing.

use super::{assert_canary_fails_check, assert_report_is_used};

/// Returns whether the program is installed; reports it if not.
#[allow(clippy::print_stderr, reason = "what is not proved is said")]
fn is_installed(program: &str) -> bool {
    let installed = if program.starts_with('/') {
        std::path::Path::new(program).exists()
    } else {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
    };
    if !installed {
        eprintln!("SKIPPED: this machine has no {program}");
    }
    installed
}

const CRATE: &str = "[package]\nname = \"shop\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";

#[test]
fn nextest_reports() {
    let tests = "#[test]\nfn adds() {}\n#[test]\n#[ignore]\nfn later() {}\n";
    let files = [
        ("Cargo.toml", CRATE),
        ("src/lib.rs", ""),
        ("tests/cart.rs", tests),
        ("tests/shop.rs", "#[test]\nfn adds() {}\n"),
    ];
    if is_installed("cargo-nextest") {
        let ids = ["shop::cart adds", "shop::shop adds"];
        assert_report_is_used(&files, "cargo nextest run --offline", &ids);
    }
}

const MIX: &str = "defmodule Shop.MixProject do\n  use Mix.Project\n\
                   \x20 def project, do: [app: :shop, version: \"0.1.0\", deps: []]\nend\n";
const EXUNIT: &str = "defmodule CartTest do\n  use ExUnit.Case\n\
                      \x20 test \"adds <1> & \\\"2\\\"\", do: assert 1 + 2 == 3\n\
                      \x20 @tag :skip\n  test \"later\", do: assert false\nend\n";

#[test]
fn mix_reports() {
    let files = [
        ("mix.exs", MIX),
        ("test/test_helper.exs", "ExUnit.start()\n"),
        ("test/cart_test.exs", EXUNIT),
    ];
    if is_installed("mix") {
        assert_report_is_used(&files, "mix test", &["CartTest.test adds <1> & \"2\""]);
    }
}

#[test]
fn rspec_reports() {
    let spec = "RSpec.describe 'Cart' do\n  it('adds') { expect(1 + 2).to eq(3) }\n  xit('later') {}\nend\n";
    if is_installed("rspec") {
        let ids = ["spec/cart_spec.rb > Cart adds"];
        assert_report_is_used(&[("spec/cart_spec.rb", spec)], "rspec", &ids);
    }
}

#[test]
fn phpunit_reports() {
    let test = "<?php\nuse PHPUnit\\Framework\\TestCase;\nclass CartTest extends TestCase {\n\
                \x20 public function testAdds(): void { $this->assertSame(3, 1 + 2); }\n}\n";
    if is_installed("phpunit") {
        let ids = ["CartTest::testAdds"];
        assert_report_is_used(&[("CartTest.php", test)], "phpunit CartTest.php", &ids);
    }
}

/// Debian's repository for Maven and Gradle, which would otherwise download.
const REPOSITORY: &str = "/usr/share/maven-repo";
const JUNIT: &str = "/usr/share/maven-repo/junit/junit/4.x";
const CART: &str = "package shop;\npublic class CartTest {\n\
                    \x20 @org.junit.Test public void adds() {}\n\
                    \x20 @org.junit.Ignore @org.junit.Test public void later() {}\n}\n";

#[test]
fn maven_reports() {
    let settings = "/etc/maven/settings-debian.xml";
    let pom = "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId>\n\
               <artifactId>shop</artifactId><version>1</version><properties>\n\
               <maven.compiler.source>8</maven.compiler.source>\n\
               <maven.compiler.target>8</maven.compiler.target></properties><dependencies>\n\
               <dependency><groupId>junit</groupId><artifactId>junit</artifactId>\n\
               <version>4.x</version><scope>test</scope></dependency></dependencies><build><plugins>\n\
               <plugin><artifactId>maven-resources-plugin</artifactId><version>3.3.0</version></plugin>\n\
               <plugin><artifactId>maven-compiler-plugin</artifactId><version>3.10.1</version></plugin>\n\
               <plugin><artifactId>maven-surefire-plugin</artifactId><version>2.22.3</version></plugin>\n\
               </plugins></build></project>\n";
    let files = [("pom.xml", pom), ("src/test/java/shop/CartTest.java", CART)];
    let surefire = "/usr/share/maven-repo/org/apache/maven/plugins/maven-surefire-plugin/2.22.3";
    if ["mvn", settings, JUNIT, surefire]
        .into_iter()
        .all(is_installed)
    {
        let command = format!("mvn -o -q -B -s {settings} test");
        assert_report_is_used(&files, &command, &["shop.CartTest.adds"]);
    }
}

#[test]
fn gradle_reports() {
    let build = format!(
        "apply plugin: 'java'\nrepositories {{ maven {{ url 'file://{REPOSITORY}' }} }}\n\
         dependencies {{ testCompile 'junit:junit:4.x' }}\n"
    );
    let files = [
        ("build.gradle", build.as_str()),
        ("src/test/java/shop/CartTest.java", CART),
    ];
    // This file uses the keywords of Debian's Gradle 4.4.
    let debian = "/usr/share/gradle/lib/gradle-core-4.4.1.jar";
    if ["gradle", debian, JUNIT].into_iter().all(is_installed) {
        let command = "gradle --offline --no-daemon test";
        assert_report_is_used(&files, command, &["shop.CartTest.adds"]);
    }
}

#[test]
fn canary_detects_replaced_assertions_in_ruby() {
    let honest = "def add(a, b) = a + b\n";
    let minitest = "require 'minitest/autorun'\nrequire_relative 'shop'\n\
                    class Cart < Minitest::Test\n  def test_adds = assert_equal(3, add(1, 2))\nend\n";
    let replaced = "module Minitest::Assertions\n  def assert_equal(*) = true\nend\n\
                    def add(a, b) = 0\n";
    if is_installed("ruby") {
        let files = [("cart.rb", minitest), ("shop.rb", honest)];
        assert_canary_fails_check(&files, "ruby cart.rb", "shop.rb", replaced);
    }
    let spec = "require_relative '../shop'\n\
                RSpec.describe('Cart') { it('adds') { expect(add(1, 2)).to eq(3) } }\n";
    let replaced = "class RSpec::Expectations::ExpectationTarget\n  def to(*) = true\nend\n\
                    def add(a, b) = 0\n";
    if is_installed("rspec") {
        for command in ["rspec", "true && rspec"] {
            let files = [("spec/cart_spec.rb", spec), ("shop.rb", honest)];
            assert_canary_fails_check(&files, command, "shop.rb", replaced);
        }
    }
}
