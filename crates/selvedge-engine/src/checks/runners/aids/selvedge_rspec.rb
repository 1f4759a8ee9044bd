# Part of Selvedge: makes expectations that must fail in the same way as the examples. Behind a wrapper, where no option
# can request a report, it also makes RSpec write one.

module Selvedge
  HERE = __dir__
  REPORTS = ENV.delete('SELVEDGE_REPORTS')

  # Removes Selvedge's part of a variable, so that programs that examples start do not get it.
  def self.take_out
    others = ENV['SPEC_OPTS'].to_s.sub(/ ?--require "[^"]*selvedge_rspec.rb"\z/, '')
    others.empty? ? ENV.delete('SPEC_OPTS') : ENV['SPEC_OPTS'] = others
  end

  def self.begin(config)
    return unless REPORTS

    require 'rspec/core/formatters/json_formatter'
    name = "rspec-#{Process.pid}"
    File.write(File.join(REPORTS, "started-#{name}"), '')
    report = File.open(File.join(REPORTS, "report-#{name}"), 'w')
    formatter = RSpec::Core::Formatters::JsonFormatter.new(report)
    config.reporter.register_listener(formatter, :message, :stop, :seed, :dump_summary, :close)
  end

  def self.probes(with)
    {
      'eq' => -> { with.expect(1).to with.eq(2) },
      'eql' => -> { with.expect(1).to with.eql(2) },
      'equal' => -> { with.expect(1).to with.equal(2) },
      'be' => -> { with.expect(1).to with.be(2) },
      'be_nil' => -> { with.expect(1).to with.be_nil },
      'be_truthy' => -> { with.expect(false).to with.be_truthy },
      'be_falsey' => -> { with.expect(true).to with.be_falsey },
      'include' => -> { with.expect([1]).to with.include(2) },
      'match' => -> { with.expect('a').to with.match(/b/) },
      'match_array' => -> { with.expect([1]).to with.match_array([2]) },
      'raise_error' => -> { with.expect { nil }.to with.raise_error(StandardError) },
      'not_to' => -> { with.expect(1).not_to with.eq(1) },
      'Integer#==' => -> { raise 'differs' unless 1 == 2 },
      'String#==' => -> { raise 'differs' unless 'a' == 'b' },
      'Array#==' => -> { raise 'differs' unless [1] == [2] },
      'Hash#==' => -> { raise 'differs' unless { 1 => 1 } == { 1 => 2 } }
    }
  end

  def self.fails?(probe)
    probe.call
    false
  rescue Exception
    true
  end

  def self.canary
    return unless defined?(RSpec::Matchers) && defined?(RSpec::Expectations)

    probes = probes(Object.new.extend(RSpec::Matchers))
    passed = probes.reject { |_, probe| fails?(probe) }.keys.map { |name| "passed #{name}" }
    outcomes = passed.empty? ? ['failed'] : passed
    File.write(File.join(HERE, 'canary'), outcomes.join("\n") + "\n", mode: 'a')
  end
end

Selvedge.take_out
RSpec.configure do |config|
  config.before(:suite) { Selvedge.begin(config) }
  config.after(:suite) { Selvedge.canary }
end
