<?php
// Part of Selvedge, loaded first into every PHP process: at the end, makes assertions that must fail with the PHPUnit
// class that the tests have used.

(function () {
    $folder = __DIR__;
    register_shutdown_function(function () use ($folder) {
        $assert = 'PHPUnit\Framework\Assert';
        if (!class_exists($assert, false)) {
            return;
        }
        $probes = [
            'assertTrue' => [false],
            'assertFalse' => [true],
            'assertSame' => [1, 2],
            'assertNotSame' => [1, 1],
            'assertEquals' => [1, 2],
            'assertNotEquals' => [1, 1],
            'assertNull' => [1],
            'assertNotNull' => [null],
            'assertCount' => [2, [1]],
            'assertContains' => [2, [1]],
            'assertEmpty' => [[1]],
            'assertInstanceOf' => ['ArrayObject', new \stdClass()],
            'assertGreaterThan' => [2, 1],
            'assertThat' => [1, null],
            'fail' => [],
        ];
        $passed = [];
        foreach ($probes as $name => $values) {
            try {
                if ($name === 'assertThat') {
                    $values[1] = $assert::equalTo(2);
                }
                $assert::$name(...$values);
                $passed[] = "passed $name\n";
            } catch (\Throwable $failure) {
                // As expected.
            }
        }
        @file_put_contents("$folder/canary", implode('', $passed ?: ["failed\n"]), FILE_APPEND);
    });
})();
